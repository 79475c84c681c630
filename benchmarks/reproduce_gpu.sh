#!/bin/bash
# The calls for a GPU that is available for half an hour, in calls of at most ten minutes. Run them one by one:
#
#     bash benchmarks/reproduce_gpu.sh OUT     # call 1: scale gpu, learning (7 slots of 80 s)
#     bash benchmarks/reproduce_gpu.sh OUT     # call 2: scale gpu, the rest of learning, and all matches
#     bash benchmarks/reproduce_gpu.sh OUT     # call 3: longer (300 s, then matches), and PUCT's share
#
# A call does what is next, in this order, until its time is over; the next call resumes in runs/ on the same machine:
#
#     1  benchmarks/reproduce_piece.py runs/fair --scale gpu          learning, then matches: equal time, equal evaluations
#     2  benchmarks/reproduction_studies.py runs/studies longer       snapshots at 45, 90, 180 and 300 s meet
#     3  benchmarks/gpu_self_play.py runs/share --share               PUCT at least 60 % of Descent's evaluations/s?
#
#     bash benchmarks/reproduce_gpu.sh OUT [SCALE] [SECONDS]     555 s by default; `smoke 120` tries it on a CPU
#
# OUT gets at most 5 files of less than 16 MiB: tables.tgz (pairs.csv, runs.csv, reports, share.txt) after every call, and
# fair-N.tar, as many whole runs as fit, as long as scale gpu is not finished. A machine without runs/ takes those from
# carried/fair-*.tar and learns the others again. Afterwards, in the source folder:
#
#     python -m dicent.reproduction.figures docs/lab/reproduction/fair --add FAIR STUDIES/longer
#     python -m dicent.reproduction.figures docs/lab/reproduction/fair --write README.md docs/lab/reproduction.md
set -u
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 1; }
out=$1 scale=${2:-gpu} seconds=${3:-555}
export PYTHONPATH=$PWD/src DICENT_CACHE=${DICENT_CACHE:-$PWD/runs/native} TORCHINDUCTOR_CACHE_DIR=$PWD/runs/inductor
python=${PYTHON:-python3}
mkdir -p runs "$out"
left() { echo $((seconds - SECONDS)); } # seconds
minutes() { "$python" -c "print(max(0.01, ($(left) - $1) / 60))"; }
trial=$([ "$scale" = gpu ] || echo --trial)
needed=$([ "$scale" = gpu ] && echo 430 || echo 60) # seconds of study 2, so that one call learns all of it

carried=$(ls carried/fair-*.tar 2>/dev/null)
[ -e runs/fair/reproduction.json ] && carried=
"$python" benchmarks/reproduce_piece.py runs/fair --scale "$scale" --minutes "$(minutes 25)" \
    ${carried:+--unpack $carried} --pack "$out/fair.tar" --most 60 2>&1 | tee runs/fair.log
if grep -q "everything is done" runs/fair.log; then
    rm -f "$out"/fair-*.tar
    if [ "$(left)" -gt "$needed" ] && [ ! -e runs/longer.done ]; then
        "$python" benchmarks/reproduction_studies.py runs/studies longer --minutes "$(minutes 15)" $trial 2>&1 |
            tee runs/longer.log
        grep -q "all matches are over" runs/longer.log && touch runs/longer.done
    fi
    if [ "$scale" = gpu ] && [ -e runs/longer.done ] && [ "$(left)" -gt 160 ] && [ ! -e runs/share/gpu.json ]; then
        timeout "$(($(left) - 10))" "$python" benchmarks/gpu_self_play.py runs/share --share --seconds 40 \
            --sizes 2048 2>&1 | tee runs/share.txt
    fi
fi
tables=$(cd runs && ls -d share.txt share/gpu.json fair/*.csv fair/report.* studies/*/*.csv ./*.log 2>/dev/null)
[ -z "$tables" ] || tar -czf "$out/tables.tgz" -C runs $tables
ls -l "$out"
