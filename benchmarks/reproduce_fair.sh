#!/bin/bash
# Run the fair reproduction in pieces of less than ten minutes, on a machine with a GPU.
#
#     bash benchmarks/reproduce_fair.sh PIECE OUT [SCALE] [SECONDS]
#
# PIECE is learn, play or longer; `play` and `longer` resume what is left of the pieces before. Everything lives in
# runs/; OUT gets the tables and packed files. A piece ends after SECONDS, 555 by default.
set -u
piece=$1 out=$2 scale=${3:-gpu} seconds=${4:-555}
export PYTHONPATH=$PWD/src DICENT_CACHE=${DICENT_CACHE:-$PWD/runs/native} TORCHINDUCTOR_CACHE_DIR=$PWD/runs/inductor
mkdir -p runs "$out"
left() { python3 -c "print(max(0.01, ($seconds - $SECONDS - $1) / 60))"; }
trial=$([ "$scale" = gpu ] || echo --trial)
study() { nice -n 19 python3 benchmarks/reproduction_studies.py runs/studies "$@" $trial; }
reproduce() { python3 benchmarks/reproduce_piece.py runs/fair --scale "$scale" "$@"; }
tables() { tar -czf "$out/$1.tgz" --exclude=learner.safetensors --exclude=games --exclude=.lock "${@:2}"; }

# On another machine than before: resume from the packed files in carried/.
if [ ! -e runs/fair/reproduction.json ] && ls carried/fair-*.tar >/dev/null 2>&1; then
    reproduce --minutes 0 --unpack carried/fair-*.tar
fi

case $piece in
learn)
    reproduce --minutes "$(left 10)" --only-learn --pack "$out/fair.tar" --most 56
    ;;
play)
    reproduce --minutes "$(left 200)" --only-learn
    study ablation --learn --minutes "$(left 10)" &
    reproduce --minutes "$(left 10)" --pack "$out/fair.tar" --most 20
    wait
    tables studies runs/studies
    ;;
longer)
    python3 benchmarks/reproduction_studies.py runs/studies longer --minutes "$(left 10)" $trial
    study ablation --minutes "$(left 10)"
    reproduce --minutes "$(left 5)" --pack "$out/fair.tar" --most 20
    tables studies --exclude=snapshots --exclude='*-depth-[0-9]/checkpoints' runs/studies
    ;;
*)
    echo "the piece must be learn, play or longer (got $piece)" && exit 1
    ;;
esac
ls -l "$out"
