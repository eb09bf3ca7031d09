"""Every broken bound of `make abuse` is reported."""

from typing import Any

import pytest
from msgspec.structs import replace

from lab.abuse.attack import Report, counted
from lab.abuse.result import Attacked, Result, table
from lab.client import Outcome
from lab.process_usage import MAX_GROWTH_BYTES, Memory
from lab.result import LoadAudit


def seen(p99: float = 0.01, errors: dict[str, int] | None = None) -> Outcome:
    return Outcome(requests=100, seconds=1.0, p50=0.002, p99=p99, errors=errors or {})


def phases(before: Outcome, during: Outcome, after: Outcome) -> dict[str, Outcome]:
    return {"before": before, "during": during, "after": after}


STORED = LoadAudit(requests=300, lost=0, differences=0, ended=[])
CALM = Attacked(
    name="names",
    title="random names",
    visitors=phases(seen(), seen(0.05), seen()),
    memory=Memory(100, 900, 100 + MAX_GROWTH_BYTES),
    drained=0.5,
    report=Report(answers={"404": 5_000}),
)
KEPT = Result(rate=1_000.0, attacks=[CALM], audit=STORED)


def test_results_without_a_fault_show_none() -> None:
    assert KEPT.faults() == []
    assert "404 x 5,000" in table(KEPT)
    assert "FAULT" not in table(KEPT)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (
            {"visitors": phases(seen(), seen(errors={"status 503": 2}), seen())},
            "visitors during: 2 status 503",
        ),
        (
            {"visitors": phases(seen(), seen(), seen(errors={"cut off": 1}))},
            "visitors after: 1 cut off",
        ),
        ({"memory": Memory(0, 0, 2 * MAX_GROWTH_BYTES)}, "40 MB of memory were not released"),
        ({"drained": None}, "requests of visitors were not drained"),
        ({"report": Report(findings=["it was let in"])}, "it was let in"),
    ],
)
def test_a_bound_that_an_attack_broke_is_reported(changed: dict[str, Any], fault: str) -> None:
    result = replace(KEPT, attacks=[replace(CALM, **changed)])
    assert result.faults() == [f"names: {fault}"]
    assert f"FAULT: names: {fault}" in table(result)


@pytest.mark.parametrize(
    ("during", "faults"),
    [
        ([0.05], []),
        ([0.08, 0.07, 0.01], ["names: p99 was 7.0 times that of before"]),
        ([0.08, 0.04, 0.01], []),
    ],
)
def test_the_median_of_several_tries_decides_how_much_slower_visitors_were(
    during: list[float], faults: list[str]
) -> None:
    attacks = [replace(CALM, visitors=phases(seen(), seen(p99), seen())) for p99 in during]
    assert replace(KEPT, attacks=attacks).faults() == faults


def test_an_answer_that_an_attacker_should_not_get_is_a_finding() -> None:
    assert counted({"200": 2, "400": 5}, {"400"}).findings == ["2 answers 200"]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"lost": 5}, "5 answered and not stored"),
        ({"differences": 7}, "7 figures of reports differ"),
        ({"ended": ["web ended"]}, "web ended"),
    ],
)
def test_a_loss_of_visitors_is_reported(changed: dict[str, Any], fault: str) -> None:
    assert replace(KEPT, audit=replace(STORED, **changed)).faults() == [fault]
