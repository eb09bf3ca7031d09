"""Requests at a fixed rate from an address of the attacker's own, whatever is answered."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from lab.abuse.target import Report
from lab.load.client import Load
from lab.load.schedule import Paced

ADDRESS: Final = "127.0.0.66"
"""Where attacks come from: Linux answers on all of 127.0.0.0/8, so that limits by address meet the
attacker and not the visitors."""


class Answers:
    """Traffic for `lab.load.client` in which every answer is expected, and counted."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self._requests = requests
        self.counts: Counter[str] = Counter()

    def next(self) -> bytes:
        return next(self._requests)

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        self.counts[answer[9:12].decode("latin-1")] += 1
        return True


async def barrage(
    port: int,
    make: Callable[[], bytes],
    rate: float,
    seconds: float,
    connections: int = 16,
    source: str = ADDRESS,
) -> Report:
    """Send what `make` returns, `rate` times a second, and count the answers."""
    answers = Answers(iter(make, b""))
    load = Load(port, answers, connections, [source])
    result = await load.run(Paced(time.perf_counter(), seconds, rate))
    return Report(answers=dict(answers.counts + Counter(result.errors)))


def unexpected(report: Report, allowed: set[str]) -> Report:
    """Return `report` with a finding for each answer that is not one of `allowed`."""
    strange = {what: n for what, n in report.answers.items() if what not in allowed}
    findings = [f"{count:,} answers {what}" for what, count in sorted(strange.items())]
    return Report(answers=report.answers, findings=report.findings + findings)
