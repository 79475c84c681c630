# Every target sets up what it needs: a virtual environment in .venv, from pinned packages.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test lint types layers unit browser chromium types-js exact faults learners load bench golden clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: $(READY)  ## Learn EinStein würfelt nicht! from zero in five minutes, then play the result
	$(BIN)/dicent train runs/first --game ewn --minutes 5
	$(BIN)/dicent match runs/first random --games 1000
	$(BIN)/dicent match runs/first uct:1000 --games 1000
	@echo
	@echo "The curves are in runs/first/report.html. What to try next:"
	@echo "  $(BIN)/dicent train runs/first --minutes 60       learn on, up to an hour in all"
	@echo "  $(BIN)/dicent accuracy runs/first --game ewn      how far it is from perfect play in endgames"
	@echo "  $(BIN)/dicent show ewn --play                     watch a game"
	@echo "  docs/your-own-game.md                             write a game of your own and train it"

test: lint types layers unit  ## Run every check that continuous integration runs

lint: $(READY)  ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Types
	$(BIN)/mypy

layers: $(READY)  ## Who may import whom
	$(BIN)/lint-imports

unit: $(READY) chromium  ## Tests
	$(BIN)/pytest -n auto --dist loadfile

browser: $(READY) chromium  ## All tests of the pages, in a real Chromium
	DICENT_BROWSER=all $(BIN)/pytest tests/test_browser.py

chromium:  # installed where it may be: on Debian, by root
	@if command -v chromedriver >/dev/null && { command -v chromium || command -v google-chrome; } >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -qq -y chromium chromium-driver >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -qq -y chromium chromium-driver >/dev/null; } || \
		echo "Chromium could not be installed: the tests in a browser are left out"; \
	else echo "There is no Chromium with its driver: the tests in a browser are left out"; fi

types-js:  ## Types of the pages, by the TypeScript compiler (needs npx)
	npx --yes -p typescript@7.0.2 tsc -p tsconfig.json

exact: $(READY)  ## Tests of exact values that take minutes
	$(BIN)/pytest tests/slow_exact.py

faults: $(READY)  ## Kill a run a hundred times at random moments; it must end as if nothing had been
	DICENT_FAULT_ROUNDS=100 $(BIN)/pytest tests/test_learn_checkpoints.py -k killed_at_any_moment

learners: $(READY)  ## Train every learner on games with exact values, and say what it has learned (about 45 minutes)
	$(BIN)/python benchmarks/learn_exact.py runs/learners
	$(BIN)/python benchmarks/determinization.py runs/learners

MINUTES ?= 5
load: $(READY)  ## Let 50 clients play at once against the server, for MINUTES=5
	$(BIN)/python benchmarks/serve_load.py $(MINUTES)

bench: $(READY)  ## Speeds of this machine
	$(BIN)/dicent bench

golden: $(READY)  ## Write the golden playthroughs anew, to be read in the diff
	$(BIN)/python tests/golden.py
	$(BIN)/python tests/golden_trees.py

clean:  ## Remove the virtual environment
	rm -rf $(VENV)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Dicent needs Python 3.11 or later; choose one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || \
		{ echo "This Python cannot make virtual environments; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,learn,openspiel,web]"
	@touch $@
