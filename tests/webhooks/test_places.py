"""How many may be sent to at once: whatever comes, no bound is broken and nobody is starved."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.ids import new_id
from tracker.webhooks import places as module
from tracker.webhooks.places import OF_HOST, OF_SLOW_WEBHOOK, OF_WEBHOOK, SLOW_MS, Places

HOOKS = [new_id() for _ in range(6)]
ACCOUNTS = [new_id() for _ in range(6)]


def take(places: Places, hook: int, most: int, account: int | None = None, host: str = "") -> int:
    owner = ACCOUNTS[hook if account is None else account]
    return places.take(HOOKS[hook], owner, host or f"h{hook}", most)


def after(
    places: Places,
    number: int,
    delivered: bool,
    hook: int = 0,
    account: int | None = None,
    milliseconds: int = 5,
    host: str = "",
) -> None:
    """So many attempts, one after the other."""
    for _ in range(number):
        assert take(places, hook, 1, account, host) == 1
        places.judge(HOOKS[hook], delivered, milliseconds)
        places.give_back(HOOKS[hook], 1)


def test_a_webhook_begins_with_one_place_and_gains_with_each_success() -> None:
    places = Places()
    assert take(places, 0, 100) == 1
    assert not places.might_have(HOOKS[0])
    places.judge(HOOKS[0], delivered=True, milliseconds=5)
    assert take(places, 0, 100) == 1
    assert places.taken_by(ACCOUNTS[0], HOOKS[0]) == (2, 2)
    places.give_back(HOOKS[0], 2)
    after(places, 200, delivered=True)
    assert take(places, 0, 1000) == OF_WEBHOOK


def test_a_webhook_that_fails_has_one_place_until_it_delivers() -> None:
    places = Places()
    after(places, 30, delivered=True)
    after(places, 1, delivered=False)
    assert take(places, 0, 100) == 1
    places.give_back(HOOKS[0], 1)
    after(places, 2, delivered=True)
    assert take(places, 0, 100) == 3


def test_one_that_answers_slowly_has_few_places_whatever_it_answers() -> None:
    places = Places()
    after(places, 100, delivered=True, milliseconds=SLOW_MS + 1)
    assert take(places, 0, 1000) == OF_SLOW_WEBHOOK


def test_a_host_is_bounded_over_all_its_webhooks() -> None:
    places = Places()
    for hook in (0, 1, 2):
        after(places, 100, delivered=True, hook=hook, host="one host")
    taken = [take(places, hook, 1000, host="one host") for hook in (0, 1, 2)]
    assert taken == [OF_WEBHOOK, OF_HOST - OF_WEBHOOK, 0]
    assert take(places, 3, 1000, host="another") == 1


def test_an_account_has_a_quarter_of_all_places_however_well_it_does() -> None:
    places = Places(16)
    for hook in (0, 1):
        after(places, 9, delivered=True, hook=hook, account=0)
    assert [take(places, hook, 3, account=0) for hook in (0, 1)] == [3, 1]
    assert take(places, 2, 9) == 1


@pytest.mark.parametrize(("delivered", "milliseconds"), [(False, 5), (True, SLOW_MS + 1)])
def test_those_that_fail_or_are_slow_have_half_of_all_places_between_them(
    delivered: bool, milliseconds: int
) -> None:
    places = Places(4)
    for hook in (0, 1, 2):
        after(places, 1, delivered, hook, milliseconds=milliseconds)
    assert [take(places, hook, 9) for hook in (0, 1, 2)] == [1, 1, 0]
    assert not places.might_have(HOOKS[2])
    places.judge(HOOKS[0], delivered=True, milliseconds=5)
    places.give_back(HOOKS[0], 1)
    assert take(places, 2, 9) == 1


def test_those_never_tried_have_a_quarter_and_one_account_half_of_that() -> None:
    places = Places(16)
    assert [take(places, hook, 9, account=0) for hook in (0, 1, 2)] == [1, 1, 0]
    assert [take(places, hook, 9, account=1) for hook in (3, 4, 5)] == [1, 1, 0]
    assert not places.might_have(new_id())
    places.judge(HOOKS[3], delivered=True, milliseconds=5)
    assert places.might_have(new_id())


def test_one_that_was_never_tried_makes_room_for_others_once_it_is_slow() -> None:
    places = Places(16)
    assert [take(places, hook, 1) for hook in range(5)] == [1, 1, 1, 1, 0]
    places.judge_slow(HOOKS[0])
    assert [take(places, hook, 1) for hook in range(6)] == [0, 0, 0, 0, 1, 0]


def test_however_many_were_never_tried_and_hang_there_is_room_for_who_is_quick() -> None:
    places = Places(16)
    places.take(HOOKS[0], ACCOUNTS[0], "quick", 1)
    places.judge(HOOKS[0], delivered=True, milliseconds=5)
    places.give_back(HOOKS[0])
    hanging: list[UUID] = []
    for _ in range(10):
        for _ in range(16):
            hook = new_id()
            hanging += [hook] * places.take(hook, new_id(), str(hook), 1)
        for hook in hanging:
            places.judge_slow(hook)
    assert len(hanging) == 12
    assert places.take(HOOKS[0], ACCOUNTS[0], "quick", 4) == 2


def test_what_is_idle_is_forgotten_when_there_is_too_much() -> None:
    places = Places()
    take(places, 0, 1)
    for _ in range(module._REMEMBERED + 5):
        hook = new_id()
        places.take(hook, ACCOUNTS[1], "h", 1)
        places.give_back(hook, 1)
    assert len(places._webhooks) <= module._REMEMBERED
    places.give_back(HOOKS[0], 1)
    assert places.free == module.MOST
    assert not places._taken


MOVES = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 2), st.sampled_from(["take", "hangs", "ok", "slow", "no"])
    ),
    max_size=200,
)


@given(MOVES)
def test_whatever_happens_no_bound_is_broken_and_all_is_given_back(
    moves: list[tuple[int, int, str]],
) -> None:
    places, held = Places(8), list[UUID]()
    for hook, host, kind in moves:
        key = HOOKS[hook]
        if kind == "take":
            held += [key] * take(places, hook, 3, account=hook // 2, host=f"h{host}")
        elif key in held and kind == "hangs":
            places.judge_slow(key)
        elif key in held:
            places.judge(key, kind != "no", 2 * SLOW_MS if kind == "slow" else 5)
            places.give_back(key, 1)
            held.remove(key)
        assert places.free == 8 - len(held) >= 0
        assert all(held.count(one) == webhook.taken for one, webhook in places._webhooks.items())
        assert all(places._taken["account", one] <= 2 for one in ACCOUNTS)
    for key in held:
        places.give_back(key, 1)
    assert not places._taken
