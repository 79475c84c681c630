"""Native code over plain arrays: one file per algorithm, written once for every game.

The package has a hole named `rules`. `dicent.game.binding` fills it: it loads this package once more for
each game, under a name of its own, with `rules` pointing at that game. The sources are valid Python
without a compiler, so one text is the reference, the oracle of the tests and the native code.
"""

# How this instance of the package runs; `dicent.game.binding` sets both before anything else is imported.
COMPILED = False  # True: every @jit function becomes native code
CACHE = False  # True: native code is kept beside the sources, for the next process
