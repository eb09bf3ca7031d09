"""Every broken bound of the abuse proof is reported."""

from typing import Any

import msgspec
import pytest

from lab.abuse.attack import Report, counted
from lab.abuse.result import Attacked, Phases, Result, table
from lab.client import Outcome
from lab.process_usage import MAX_GROWTH_BYTES, Memory
from lab.result import LoadAudit


def seen(p99: float = 0.01, errors: dict[str, int] | None = None) -> Outcome:
    return Outcome(requests=100, seconds=1.0, p50=0.002, p99=p99, errors=errors or {})


CALM = Attacked(
    name="names",
    title="random names",
    visitors=Phases(seen(), seen(0.05), seen()),
    memory=Memory(100, 900, 100 + MAX_GROWTH_BYTES),
    drained=0.5,
    report=Report(answers={"404": 5_000}),
)
STORED = LoadAudit(requests=300, lost=0, differences=0, ended=[])
KEPT = Result(rate=1_000.0, attacks=[CALM], audit=STORED)


def test_an_attack_that_visitors_hardly_notice_breaks_no_bound() -> None:
    assert KEPT.faults() == []
    assert "FAULT" not in table(KEPT)
    assert "404 x 5,000" in table(KEPT)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (
            {"visitors": Phases(seen(), seen(errors={"status 503": 2}), seen())},
            "visitors during: 2 status 503",
        ),
        (
            {"visitors": Phases(seen(), seen(), seen(errors={"cut off": 1}))},
            "visitors after: 1 cut off",
        ),
        ({"memory": Memory(0, 0, 2 * MAX_GROWTH_BYTES)}, "40 MB of memory were not released"),
        ({"drained": None}, "requests of visitors were not drained"),
        ({"report": Report(findings=["it was let in"])}, "it was let in"),
    ],
)
def test_a_bound_that_an_attack_broke_is_reported(changed: dict[str, Any], fault: str) -> None:
    attacked = msgspec.structs.replace(CALM, **changed)
    assert attacked.faults() == [f"names: {fault}"]
    text = table(msgspec.structs.replace(KEPT, attacks=[attacked]))
    assert f"FAULT: names: {fault}" in text


@pytest.mark.parametrize(
    ("during", "faults"),
    [
        ([0.05], []),
        ([0.051], ["names: p99 was 5.1 times that of before"]),
        ([0.08, 0.07, 0.01], ["names: p99 was 7.0 times that of before"]),
        ([0.08, 0.04, 0.01], []),
    ],
)
def test_the_median_of_several_tries_decides_how_much_slower_visitors_were(
    during: list[float], faults: list[str]
) -> None:
    attacks = [
        msgspec.structs.replace(CALM, visitors=Phases(seen(), seen(p99), seen())) for p99 in during
    ]
    assert msgspec.structs.replace(KEPT, attacks=attacks).faults() == faults


def test_answers_that_are_not_stored_are_a_fault_of_the_run() -> None:
    result = msgspec.structs.replace(KEPT, audit=msgspec.structs.replace(STORED, lost=3))
    assert result.faults() == ["3 answered and not stored"]


def test_an_answer_that_an_attacker_should_not_get_is_a_finding() -> None:
    report = counted({"200": 2, "400": 5}, {"400"})
    assert report.answers == {"200": 2, "400": 5}
    assert report.findings == ["2 answers 200"]
