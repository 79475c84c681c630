"""Native code over plain arrays: one file per algorithm, written once for every game.

The package has a placeholder module named `rules`. `dicent.game.binding` loads this package once more for
each game, under another name, with `rules` pointing at that game. The sources are valid Python without a
compiler, so one text is the reference, the oracle of the tests and the native code.
"""

from contextlib import nullcontext

# How this instance of the package runs. `dicent.game.binding` sets these before any other import.
COMPILED = False  # True: every @jit function becomes native code
CACHE = False  # True: native code is stored beside the sources, for the next process
SAVING = nullcontext  # a context in which no other process stores native code of this instance
