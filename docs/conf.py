"""Settings of the documentation site: `make docs`, or `python -m sphinx -W --keep-going docs dist/docs`."""

import os
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"  # kernels are documented from their Python text
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "src"), str(ROOT / "examples")]

import dicent  # noqa: E402  (after the variable and the path)

project = "Dicent"
author = "The Dicent developers"
copyright = "The Dicent developers"
release = version = dicent.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "generated_pages"]
if not tags.has("quick"):  # noqa: F821  (Sphinx defines it)
    extensions.append("sphinx.ext.viewcode")
exclude_patterns = ["lab/reproduction/*/report.html"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures stay on one line; the linked source has the types
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_mock_imports = ["bgsage", "gnubg_nn", "open_spiel", "pyspiel", "tensorboard"]
viewcode_line_numbers = True

html_theme = "furo"
html_title = f"Dicent {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_style = "default"
pygments_dark_style = "monokai"
