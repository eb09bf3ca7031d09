"""The two paths of a click."""

import pytest

BOTH_PATHS = pytest.mark.parametrize("target", ["/c/abc", "/api/click?s=abc"])
