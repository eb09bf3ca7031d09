"""CONTRIBUTING.md names files that exist."""

import re

from tests.documents import text
from tests.paths import ROOT


def test_every_file_that_is_named_exists() -> None:
    section = text("CONTRIBUTING.md").partition("## To add something\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z]\w*/[^`]*)`", section))
    assert named
    assert {one for one in named if not any(ROOT.glob(one))} == set()
