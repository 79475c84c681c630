"""The compiler and its options."""

from . import CACHE, COMPILED, SAVING

if COMPILED:
    import warnings

    import numba
    import numpy as np
    from numba.core.caching import FunctionCache
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    # nogil: threads of one process run kernels side by side.
    # _nrt: kernels get all their memory from the caller, so that no reference counts are needed.
    # No fastmath: compiled and uncompiled code must agree to the last bit.
    OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}

    u64, i64 = np.uint64, np.int64

    class TolerantCache(FunctionCache):
        """Numba's disk cache, except that a full or missing disk costs time and does not stop the run."""

        complained = False

        def load_overload(self, sig, target_context):
            try:
                return super().load_overload(sig, target_context)
            except OSError as error:
                self.complain(error)
            except Exception:  # damaged, for instance by a power failure: compile again
                try:
                    self.flush()
                except OSError as error:
                    self.complain(error)
            return None

        def save_overload(self, sig, data):
            try:
                with SAVING():  # Numba's index of a function must not change between its reading and writing
                    super().save_overload(sig, data)
            except OSError as error:
                self.complain(error)

        def complain(self, error):
            if not TolerantCache.complained:
                TolerantCache.complained = True
                warnings.warn(
                    f"Native code could not be stored in {self.cache_path} ({error}); the next "
                    "process will compile again. Set DICENT_CACHE to a folder with free space.",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def jit(function, **more):
        """Compile a kernel function to native code."""
        dispatcher = numba.njit(**OPTIONS, **more)(function)
        if CACHE:
            # The effect of `cache=True`, with the tolerant class in place of Numba's own.
            dispatcher._cache = TolerantCache(function)
        return dispatcher

    class InlinedCode(JITCodeLibrary):
        """The code of a function that is copied into its callers, and optimised there.

        Numba would also optimise it alone and make machine code of it, which no caller uses: a third of the
        time to compile.
        """

        def _optimize_final_module(self):
            """Do nothing."""

        def _finalize_final_module(self):
            """Make no machine code."""
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name):
            """Link everything; there is no machine code to point to."""
            self._ensure_finalized()
            return 0

        @property
        def codegen(self):
            """Return this library: `set_env` is all that Numba asks of it."""
            return self

        def set_env(self, name, environment):
            """Do nothing: there is no machine code with an environment."""

        def serialize_using_object_code(self):
            """Return what the disk cache stores: the code before it becomes machine code."""
            return self.serialize_using_bitcode()

    class InlineCompiler(Compiler):
        """Numba's compiler, except that it makes `InlinedCode`."""

        def compile_extra(self, func):
            """Compile a Python function."""
            self.state.library = InlinedCode(self.state.targetctx.codegen(), func.__qualname__)
            self.state.library.enable_object_caching()
            return super().compile_extra(func)

    def inline(function):
        """Compile a short function and copy its code to every caller, without an entry for Python."""
        return jit(
            function,
            forceinline=True,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            pipeline_class=InlineCompiler,
        )

else:
    OPTIONS = {}
    _ALL = (1 << 64) - 1

    def u64(x):
        """Return an unsigned 64-bit number; uncompiled, a plain int that the callers mask."""
        return int(x) & _ALL

    i64 = int  # type: ignore[assignment]  # in place of numba's type

    def jit(function):
        """Return a kernel function as it is."""
        return function

    inline = jit


@inline
def copy(target, source):
    """Copy a state (an assignment of slices would allocate memory)."""
    for i in range(len(source)):
        target[i] = source[i]
