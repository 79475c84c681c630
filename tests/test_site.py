"""The documentation site is built without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest

from .document_blocks import ROOT

pytest.importorskip("sphinx")


def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    # `-t quick` leaves out the pages of highlighted source, which take most of the time and have no warnings.
    options = ["-q", "-W", "--keep-going", "-t", "quick"]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "Dicent" in (tmp_path / "index.html").read_text(encoding="utf-8")
