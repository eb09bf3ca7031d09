"""The schedule of `make chaos`."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.chaos.disturbances import MAX_SECONDS, SERVICE_KINDS, drain_names, schedule
from lab.chaos.topology import TOPOLOGIES

KINDS = (*SERVICE_KINDS, *TOPOLOGIES["single"].actions)


def test_a_seed_has_one_schedule() -> None:
    assert schedule(7, 600, 60, 2, KINDS) == schedule(7, 600, 60, 2, KINDS)
    assert schedule(7, 600, 60, 2, KINDS) != schedule(8, 600, 60, 2, KINDS)


@given(
    seed=st.integers(),
    count=st.integers(0, 100),
    seconds=st.floats(1, 10_000),
    kinds=st.sampled_from([KINDS, (*SERVICE_KINDS, *TOPOLOGIES["replicated"].actions)]),
)
def test_kinds_are_balanced_and_times_in_order_and_within_bounds(
    seed: int, count: int, seconds: float, kinds: Sequence[str]
) -> None:
    planned = schedule(seed, seconds, count, 2, kinds)
    numbers = Counter(dict.fromkeys(kinds, 0)) + Counter(one.kind for one in planned)
    assert len(planned) == count
    assert max(numbers.values(), default=0) - min(numbers[kind] for kind in kinds) <= 1
    assert [one.at for one in planned] == sorted(one.at for one in planned)
    assert all(0 <= one.at <= seconds for one in planned)
    assert all(0 <= one.seconds <= min(MAX_SECONDS, seconds / 10) for one in planned)


@pytest.mark.parametrize("drains", [1, 3])
def test_every_drain_is_disturbed_and_every_other_target_is_one_process(drains: int) -> None:
    processes = {
        target: {
            one.process for one in schedule(1, 600, 400, drains, KINDS) if one.kind.endswith(target)
        }
        for target in ("web", "redis", "mongod", "drain")
    }
    assert processes.pop("drain") == set(drain_names(drains))
    assert all(names == {target} for target, names in processes.items())


def test_the_spool_is_removed_from_a_web_process_that_lives_while_redis_is_down() -> None:
    removals = [one for one in schedule(1, 600, 400, 2, KINDS) if one.action == "remove"]
    assert removals
    assert {(one.process, one.killed) for one in removals} == {("web", "redis")}


def test_some_processes_are_unavailable_for_longer_than_a_drain_may_be_silent() -> None:
    assert any(one.seconds > 10 for one in schedule(1, 600, 60, 2, KINDS))
