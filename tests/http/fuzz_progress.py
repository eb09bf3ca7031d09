"""What a run of libFuzzer reached beyond its seeds, read from the lines that it prints."""

import re
from collections.abc import Iterable
from typing import NamedTuple, TextIO

_STATUS = re.compile(r"#\d+\s+\w+\s+(?:cov: (\d+) ft: (\d+) )?corp: (\d+)/|#\d+\s+INITED ")
"""A line of status. Coverage is missing while nothing that is instrumented was executed."""


class Reached(NamedTuple):
    """What inputs so far have reached."""

    branches: int = 0
    """Branches that were taken: the coverage."""
    features: int = 0
    """Branches, told apart by how often one input took them."""
    corpus: int = 0
    """Inputs that reached a feature first."""


class Progress(NamedTuple):
    """How far the seeds came, and the run beyond them."""

    seeds: Reached
    end: Reached

    @property
    def fault(self) -> str | None:
        """Return why the run proves nothing; None if it does."""
        if not self.seeds.branches:
            return "the fuzzer is blind: it sees no coverage of what it executes"
        if self.end.features <= self.seeds.features or self.end.corpus <= self.seeds.corpus:
            return "nothing that the seeds do not reach was reached"
        return None

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {first} -> {last}"
            for name, first, last in zip(Reached._fields, self.seeds, self.end, strict=True)
        )


def followed(lines: Iterable[str], copy: TextIO) -> Progress:
    """Return the progress of a run whose lines these are. Each is copied to `copy` at once."""
    found: list[Reached] = []
    for line in lines:
        copy.write(line)
        if status := _STATUS.match(line):
            found.append(Reached(*(int(number or 0) for number in status.groups())))
    return Progress(found[0], found[-1]) if found else Progress(Reached(), Reached())
