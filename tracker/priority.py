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

    Niceness decides who goes first on a processor, not who is sent to which. For Linux one that
    does nothing but work of SCHED_IDLE is as good as idle (sched(7)): who answers is woken there,
    rather than to share another with whoever woke it.
    """
    os.nice(NICE)
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox that forbids it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # another system, or one without the feature
            _OF_SESSION.write_text(str(NICE))
