"""A drain that keeps failing ends its process, whose exit code shows that."""

import pytest

from config.settings import Settings
from tests.system.service import ended, environment


@pytest.mark.parametrize("role", ["all", "drain"])
def test_a_process_whose_drain_is_given_up_exits_with_1(settings: Settings, role: str) -> None:
    given_up = ended(environment(settings), "-m", "tests.system.broken_drain", "--role", role)
    assert given_up.returncode == 1
    assert given_up.stderr.splitlines()[-1] == (
        "run.py: the loop drain failed again and again; the log says why"
    )
