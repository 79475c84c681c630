"""The pictures of the documentation: they are those that the code draws now."""

import importlib.util
import xml.etree.ElementTree as ElementTree
from types import ModuleType

import pytest

from .document_blocks import ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "docs" / "make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_equal_what_the_script_draws(script: ModuleType) -> None:
    for name, drawn in script.pictures().items():
        saved = (script.FOLDER / name).read_text(encoding="utf-8")
        assert saved == drawn, f"run: python docs/make_pictures.py ({name} differs)"


def test_pictures_are_complete_svg_files(script: ModuleType) -> None:
    for name in (*script.pictures(), "ewn.svg"):
        root = ElementTree.parse(script.FOLDER / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_every_picture_is_shown_on_a_page(script: ModuleType) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md"))
    for picture in script.FOLDER.glob("*.svg"):
        assert f"images/{picture.name})" in pages, picture.name
