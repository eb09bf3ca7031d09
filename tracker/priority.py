"""Giving way: who works behind the answers takes the processor that those who answer leave.

Called once by a process that only drains, and by the built-in mongod before it becomes one.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

NICE: Final = 19
"""There is none higher."""

_OF_SESSION: Final = Path("/proc/self/autogroup")
"""Linux shares a processor among sessions first, and niceness counts within one only; a session has
a niceness of its own, here (sched(7), "The autogroup feature")."""


def give_way() -> None:
    """To every other process, with all of our session if we lead it; else only within that."""
    os.nice(NICE)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # another system, or one without the feature
            _OF_SESSION.write_text(str(NICE))
