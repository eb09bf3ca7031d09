"""`run.py` that is killed at a point of the first request with an Idempotency-Key that gets there.

`DIES_AT` names the point: `open` within the transaction of the effect, `answered` after it, and for
a conversion `recorded`, once it is in the journal.
"""

import os
import signal
import sys
from typing import Any, Final

import run
from tracker.access.idempotency import FirstAnswers

DIES_AT: Final = "DIES_AT"


def _killed(point: str) -> None:
    if os.environ[DIES_AT] == point:
        os.kill(os.getpid(), signal.SIGKILL)


async def _once(self: FirstAnswers, once: Any, work: Any) -> bool:
    was_kept = await first(self, once, work)
    _killed("answered")
    return was_kept


async def _keep(self: FirstAnswers, once: Any, answer: bytes, session: Any = None) -> None:
    if session is None:
        _killed("recorded")
    await keep(self, once, answer, session)
    if session is not None:
        _killed("open")


first, keep = FirstAnswers.once, FirstAnswers.keep

if __name__ == "__main__":  # and not where a test imports the name of the variable
    FirstAnswers.keep = _keep  # type: ignore[method-assign]
    FirstAnswers.once = _once  # type: ignore[method-assign]
    sys.exit(run.main(sys.argv[1:]))
