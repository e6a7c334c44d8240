"""The drawings of the concepts are what the engine gives."""

import xml.etree.ElementTree as ElementTree

import pytest

from studies.concepts.figures import FIGURES
from tests.support import ROOT


@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_what_its_script_draws(name: str) -> None:
    file = ROOT / "docs" / "figures" / f"{name}.svg"
    assert file.read_text() == FIGURES[name](), "make figures"
    assert ElementTree.fromstring(file.read_text()).tag.endswith("svg")
