# Every target sets up what it needs: a virtual environment in .venv, from pinned packages.
# make is a convenience. CONTRIBUTING.md lists the same commands for systems without it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test lint types layers unit docs wheel test-pythons browser chromium types-js exact mazes rules clock faults cluster cluster-faults fuzz learners load bench golden lock audit clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(READY)  ## Learn EinStein würfelt nicht! from zero in five minutes, then play matches with the result
	$(BIN)/dicent train runs/first --game ewn --minutes 5
	$(BIN)/dicent match runs/first random --games 1000
	$(BIN)/dicent match runs/first uct:1000 --games 1000
	@echo
	@echo "The learning curves are in runs/first/report.html. Next steps:"
	@echo "  $(BIN)/dicent serve                               play in the browser"
	@echo "  $(BIN)/dicent train runs/first --minutes 60       resume, up to an hour in all"
	@echo "  $(BIN)/dicent accuracy runs/first --game ewn      compare with exact endgame values"
	@echo "  docs/tutorial/your-own-game.md                    write and train a game"

test: lint types layers unit  ## Run every check that continuous integration runs

lint: $(READY)  ## Check the style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Check the types
	$(BIN)/mypy

layers: $(READY)  ## Check which package imports which
	$(BIN)/lint-imports

unit: $(READY) chromium  ## Run the tests
	$(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder

docs: $(READY)  ## Build the documentation in dist/docs, with warnings as errors
	$(BIN)/python -m sphinx -q -W --keep-going docs dist/docs

wheel: $(READY)  ## Build the wheel in dist/, install it into an empty environment and use it
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	DICENT_WHEEL=full $(BIN)/pytest tests/test_wheel.py

test-pythons:  ## Run the quick tests with every supported Python at hand, without torch
	$(PYTHON) tests/pythons.py

browser: $(READY) chromium  ## Run all tests of the browser pages in Chromium
	DICENT_BROWSER=all $(BIN)/pytest tests/test_browser*.py tests/test_web_install.py

chromium:  # installed where that is possible: on Debian, by root
	@if command -v chromedriver >/dev/null && { command -v chromium || command -v google-chrome; } >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -qq -y chromium chromium-driver >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -qq -y chromium chromium-driver >/dev/null; } || \
		echo "Chromium could not be installed: the browser tests are skipped"; \
	else echo "No Chromium with its driver was found: the browser tests are skipped"; fi

types-js:  ## Check the types of the browser pages with the TypeScript compiler (needs npx)
	npx --yes -p typescript@7.0.2 tsc -p tsconfig.json

exact: $(READY)  ## Run the tests of exact values that take minutes
	$(BIN)/pytest tests/slow_exact.py

mazes: $(READY)  ## Search 30,000 positions of random games with cycles, and check every proof (some minutes)
	$(BIN)/pytest -s tests/slow_mazes.py

rules: $(READY)  ## Compare the rules with other programs on hundreds of thousands of positions (about ten minutes)
	$(BIN)/pytest tests/slow_rules.py

clock: $(READY)  ## Play a thousand games on time on a busy machine (about half an hour)
	$(BIN)/pytest tests/slow_clock.py

faults: $(READY)  ## Kill a run a hundred times at random moments and compare its result with an undisturbed run
	DICENT_FAULT_ROUNDS=100 $(BIN)/pytest tests/test_learn_checkpoints.py -k killed_at_any_moment

cluster: $(READY)  ## Test training, tournaments and the reproduction on Ray clusters of this machine (about five minutes)
	$(BIN)/pytest tests/test_cluster.py tests/slow_cluster.py

cluster-faults: $(READY)  ## Let 30 random faults happen to a run on a cluster in ten minutes
	DICENT_CLUSTER_MINUTES=10 $(BIN)/pytest -s tests/slow_cluster.py -k many_faults

fuzz: $(READY)  ## Read 100,000 malformed imports, records, networks, tablebases, run folders and protocol lines (about fifteen minutes)
	DICENT_FUZZ=100000 $(BIN)/pytest -s tests/test_fuzz.py

learners: $(READY)  ## Train every learner on games with exact values and report their errors (about 45 minutes)
	$(BIN)/python benchmarks/learn_exact.py runs/learners
	$(BIN)/python benchmarks/determinization.py runs/learners

MINUTES ?= 5
load: $(READY)  ## Let 50 clients play at once against the server, for MINUTES=5
	$(BIN)/python benchmarks/serve_load.py $(MINUTES)

bench: $(READY)  ## Measure the speed of this machine
	$(BIN)/dicent bench

golden: $(READY)  ## Rewrite the golden playthroughs; read the diff
	$(BIN)/python tests/golden.py
	$(BIN)/python tests/golden_trees.py
	$(BIN)/python tests/golden_views.py

lock:  ## Write constraints.lock: the hashes of the versions in constraints.txt (needs the package index)
	$(PYTHON) tests/lock.py

audit:  ## Look for known vulnerabilities of the versions in constraints.txt (needs an advisory database)
	$(PYTHON) -m venv dist/audit
	dist/audit/bin/pip install --quiet pip-audit
	dist/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r constraints.txt

clean:  ## Remove the virtual environment and what was built
	rm -rf $(VENV) dist docs/reference/generated

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Dicent needs Python 3.11 or later; choose one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || \
		{ echo "This Python cannot make virtual environments; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[cluster,dev,docs,learn,openspiel,web]"
	@touch $@
