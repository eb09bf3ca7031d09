"""The next report that reads clicks: one of an account at a time, shared fairly, limited."""

from uuid import UUID

import pytest

from tracker.reports.turns import TooManyWait, Turn, Turns

ACCOUNTS = {name: UUID(int=number) for number, name in enumerate("abcdefgh")}
NAMES = {account_id: name for name, account_id in ACCOUNTS.items()}


def order(steps: str, at_once: int) -> str:
    """Return the accounts in the order in which their reports begin.

    A letter of `steps` asks for that account, "." ends the oldest report under way; in the end all
    are ended.
    """
    turns, running, begun = Turns(at_once), list[Turn](), ""
    steps += "." * len(steps)
    for step in steps:
        if step == ".":
            turn = turns.end(running.pop(0)) if running else None
        else:
            asked, _ = turns.request(ACCOUNTS[step])
            turn = asked if asked.running else None
        if turn is not None:
            assert NAMES[turn.account_id] not in [NAMES[one.account_id] for one in running]
            running.append(turn)
            begun += NAMES[turn.account_id]
        assert len(running) <= at_once
    assert turns.waiting == 0
    return begun


@pytest.mark.parametrize(
    ("steps", "at_once", "begun"),
    [
        ("a", 2, "a"),
        ("ab", 2, "ab"),
        ("aab", 2, "aba"),  # one turn for each account first
        ("aaaaaaaab", 2, "abaaaaaaa"),
        ("acaaabbb", 2, "acbababa"),
        ("aaab", 1, "abaa"),  # the account that had a turn is behind those that had none
        ("aaabbb", 1, "ababab"),
        ("aaabcbc", 1, "abcabca"),
        ("aa.a.a", 1, "aaaa"),
        ("aabcd..", 2, "abcda"),
    ],
)
def test_accounts_take_turns_and_the_oldest_of_each_is_first(
    steps: str, at_once: int, begun: str
) -> None:
    assert order(steps, at_once) == begun


def test_only_the_account_that_fills_its_queue_is_rejected() -> None:
    turns = Turns(at_once=1, waiting_of_account=2, waiting=10)
    for _ in range(3):
        turns.request(ACCOUNTS["a"])
    with pytest.raises(TooManyWait) as refused:
        turns.request(ACCOUNTS["a"])
    assert refused.value.of_account
    assert turns.request(ACCOUNTS["b"])[1] is None


def test_in_a_full_queue_the_account_with_the_most_loses_its_newest() -> None:
    turns = Turns(at_once=1, waiting_of_account=4, waiting=6)
    first, _ = turns.request(ACCOUNTS["a"])
    waiting = [turns.request(ACCOUNTS[name])[0] for name in "aaaabb"]
    asked, dropped = turns.request(ACCOUNTS["c"])
    assert dropped is waiting[3] and dropped.dropped
    assert turns.end(dropped) is None
    assert turns.waiting == 6
    with pytest.raises(TooManyWait) as refused:
        turns.request(ACCOUNTS["b"])  # would have as many as the longest
    assert not refused.value.of_account
    assert turns.end(first) is waiting[4]
    assert turns.end(waiting[4]) is asked


def test_a_report_that_stops_waiting_frees_its_place() -> None:
    turns = Turns(at_once=1)
    first, _ = turns.request(ACCOUNTS["a"])
    left, _ = turns.request(ACCOUNTS["b"])
    last, _ = turns.request(ACCOUNTS["c"])
    assert turns.end(left) is None
    assert turns.end(first) is last
    assert turns.end(last) is None
    assert turns.request(ACCOUNTS["b"])[0].running
