"""The figures of the benchmark: medians, ratios, targets and the table."""

import pytest

from lab.bench.figures import figures
from lab.bench.measure import Landed, Measured
from lab.bench.rows import ROWS, Row
from lab.bench.table import table
from lab.bench.targets import targets
from lab.client import Outcome

BY_KEY = {row.key: row for row in ROWS}
RATES = {"a": 100, "b": 250, "c": 1200, "d": 900, "e": 1000, "f1": 300, "f2": 450, "g": 40}
RATES |= {"h": 2400, "i": 600, "j": 714, "k": 900, "l": 900, "m": 1500, "n": 1, "o": 1080}
RATES |= {"p": 100, "q": 1, "r": 1020, "s": 1020}


def measured(
    rate: int, p99: float = 0.009, landed: float | None = None, cpu: float = 1.0
) -> Measured:
    """Return a round of two seconds.

    `landed` is the stored part, half of it during the load; it cost 40 µs each.
    """
    requests = rate * 2
    arrived = None
    if landed is not None:
        settled = int(requests * landed)
        used = {"web": settled * 10e-6, "mongod": settled * 30e-6}
        arrived = Landed(accepted=requests, at_end=settled // 2, settled=settled, cpu_seconds=used)
    return Measured(
        outcome=Outcome(requests=requests, seconds=2.0, p50=0.001, p99=p99, errors={}),
        cpu_seconds={"web": cpu, "drain": cpu / 2},
        memory={"web": 90 << 20, "mongod": 200 << 20},
        landed=arrived,
    )


def test_a_ratio_is_the_median_of_the_ratios_of_all_rounds() -> None:
    full = {
        "a": [measured(100), measured(200), measured(400)],
        "c": [measured(500), measured(1400), measured(2400)],
        "h": [measured(1000), measured(7000), measured(8000)],
    }
    found = figures([BY_KEY[key] for key in full], full, {}, {})
    assert [one.ratio for one in found] == [1.0, 6.0, 20.0]
    by_text = {target.text: target.figure for target in targets(found)}
    assert by_text["c accepts at least 0.5 x h"] == pytest.approx(0.3)


def all_figures(**changed: Measured) -> dict[str, tuple[float | None, bool | None]]:
    full = {
        key: [changed.get(key, measured(rate, landed=1.0 if BY_KEY[key].stored else None))]
        for key, rate in RATES.items()
    }
    full["g"] = [changed.get("g", measured(40, cpu=0.0319))]
    rates = {"c": 600, "d": 450, "e": 500, "k": 1, "l": 1}
    best = {
        key: changed.get(f"best_{key}", measured(rate, p99=0.0075, landed=1.0))
        for key, rate in rates.items()
    }
    half = {key: [changed.get(f"half_{key}", measured(1, p99=0.006))] for key in rates}
    return {one.text: one[1:] for one in targets(figures(ROWS, full, best, half))}


IN_TIME = {"half_c": measured(1, p99=0.006), "half_d": measured(1, p99=0.012)}


def test_every_target_is_reached_at_its_bound() -> None:
    found = all_figures(**IN_TIME)
    assert len(found) == 24
    assert {text: reached for text, (_, reached) in found.items() if not reached} == {}


def test_the_table_shows_every_row_and_target() -> None:
    full = {"a": [measured(1234)], "c": [measured(8000, landed=0.5)]}
    best, half = measured(2000, landed=1.0), [measured(1, p99=0.0123)]
    found = figures([BY_KEY["a"], BY_KEY["c"]], full, {"c": best}, {"c": half})
    lines = table(found, targets(found)).splitlines()
    assert lines[4].startswith("a  bare redirect")
    assert lines[4].split()[-6:] == ["1,234", "1.00", "9.00", "0.405", "1.00", "web"]
    shown = [" ".join(line.split()) for line in lines]
    assert ("c landed two seconds after the load: 0.500 of the accepted, backlog 8,000") in shown
    assert "c resident MB: web 90, mongod 200" in shown
    assert "c sustains at least 6 x a 1.62 NOT REACHED" in shown
    assert "c p99 at half of what it sustains, at most 6 ms 12.30 NOT REACHED" in shown
    assert "b accepts at least 2.5 x a - not measured" in shown


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_every_row_that_records_names_the_collection_it_stores_in(row: Row) -> None:
    has_drain = ("web and drain", "all", "two of each")
    records = row.serving in has_drain and row.requests != "links"
    stored = "events" if row.requests.startswith("events") else "clicks"
    assert row.stored == (stored if records else None)
