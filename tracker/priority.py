"""Giving way: who works behind the answers takes the processor that those who answer leave.

Called once by a process that only drains, and by the built-in mongod before it becomes one.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

NICE: Final = 19
"""There is none higher."""

_OF_SESSION: Final = Path("/proc/self/autogroup")
"""Linux shares a processor among sessions first, and niceness counts within one only; a session has
a niceness of its own, here (sched(7), "The autogroup feature")."""


def give_way() -> None:
    """To every other process, with all of our session if we lead it; else only within that.

    Where there is SCHED_IDLE, which leaves even less than the highest niceness (sched(7)), it is
    that: a processor with no other work counts as idle when Linux chooses where to wake somebody
    (since 5.4), so that who answers is not woken on the one of whoever woke it, to share that.
    """
    os.nice(NICE)
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox that forbids it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # another system, or one without the feature
            _OF_SESSION.write_text(str(NICE))
