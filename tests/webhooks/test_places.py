"""How many may be sent to at once: whatever comes, no bound is broken and nobody is starved."""

from hypothesis import given
from hypothesis import strategies as st

from tracker.ids import new_id
from tracker.webhooks import places as module
from tracker.webhooks.places import OF_HOST, OF_WEBHOOK, Places

HOOKS = [new_id() for _ in range(6)]


def after(places: Places, number: int, delivered: bool, hook: int = 0) -> None:
    """So many attempts, one after the other."""
    for _ in range(number):
        assert places.take(HOOKS[hook], f"h{hook}", 1) == 1
        places.judge(HOOKS[hook], delivered)
        places.give_back(HOOKS[hook], 1)


def test_a_webhook_begins_with_few_places_and_gains_with_each_success() -> None:
    places = Places()
    assert places.take(HOOKS[0], "h0", 100) == 4
    assert not places.might_have(HOOKS[0])
    places.judge(HOOKS[0], delivered=True)
    assert places.take(HOOKS[0], "h0", 100) == 1
    places.give_back(HOOKS[0], 5)
    after(places, 200, delivered=True)
    assert places.take(HOOKS[0], "h0", 1000) == OF_WEBHOOK


def test_a_webhook_that_fails_has_one_place_until_it_delivers() -> None:
    places = Places()
    after(places, 30, delivered=True)
    after(places, 1, delivered=False)
    assert places.take(HOOKS[0], "h0", 100) == 1
    places.give_back(HOOKS[0], 1)
    after(places, 2, delivered=True)
    assert places.take(HOOKS[0], "h0", 100) == 3


def test_a_host_is_bounded_over_all_its_webhooks() -> None:
    places = Places()
    for hook in (0, 1):
        for _ in range(100):
            places.take(HOOKS[hook], "one host", 1)
            places.judge(HOOKS[hook], delivered=True)
            places.give_back(HOOKS[hook], 1)
    taken = [places.take(HOOKS[hook], "one host", 1000) for hook in (0, 1, 2)]
    assert taken == [OF_WEBHOOK, OF_HOST - OF_WEBHOOK, 0]
    assert places.take(HOOKS[3], "another", 1000) == 4


def test_those_that_fail_have_half_of_all_places_between_them() -> None:
    places = Places(4)
    for hook in (0, 1, 2):
        after(places, 1, delivered=False, hook=hook)
    assert [places.take(HOOKS[hook], f"h{hook}", 9) for hook in (0, 1, 2)] == [1, 1, 0]
    assert not places.might_have(HOOKS[2])
    assert places.take(HOOKS[3], "h3", 9) == 2
    assert places.free == 0
    places.judge(HOOKS[0], delivered=True)
    places.give_back(HOOKS[0], 1)
    assert places.take(HOOKS[2], "h2", 9) == 1


def test_what_is_idle_is_forgotten_when_there_is_too_much() -> None:
    places = Places()
    places.take(HOOKS[0], "h", 1)
    for _ in range(module._REMEMBERED + 5):
        hook = new_id()
        places.take(hook, "h", 1)
        places.give_back(hook, 1)
    assert len(places._webhooks) <= module._REMEMBERED
    places.give_back(HOOKS[0], 1)
    assert places.free == module.MOST
    assert not places._taken_of_host


MOVES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from(["take", "ok", "fail"])),
    max_size=200,
)


@given(MOVES)
def test_whatever_happens_no_bound_is_broken_and_all_is_given_back(
    moves: list[tuple[int, int, str]],
) -> None:
    places, held = Places(8), []
    for hook, host, kind in moves:
        if kind == "take":
            held += [hook] * places.take(HOOKS[hook], f"h{host}", 3)
        elif hook in held:
            places.judge(HOOKS[hook], kind == "ok")
            places.give_back(HOOKS[hook], 1)
            held.remove(hook)
        assert places.free == 8 - len(held) >= 0
        failing = [one for one in places._webhooks.values() if one.failing]
        assert places._taken_by_failing == sum(one.taken for one in failing)
    for hook in held:
        places.give_back(HOOKS[hook], 1)
    assert (places.free, places._taken_by_failing) == (8, 0)
    assert not places._taken_of_host
