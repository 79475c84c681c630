"""Learn and play stochastic two-player perfect-information games from their rules alone.

This module is the public interface. `__init__.pyi` beside it lists every name once, with the module that
defines it; a name is imported when it is first used, so that `import dicent` stays fast.
"""

import lazy_loader

from dicent.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
