"""The requests of `make chaos`."""

import json
import re
from collections import Counter
from itertools import islice
from uuid import UUID

import pytest

from lab.chaos.traffic import Request, Requests
from lab.scene import Place, Scene

SCENE = Scene(UUID(int=1), "key", [Place("one"), Place("two", "go.chaos.test")], ["p1", "p2"], {})
CLICKS = [UUID(int=number) for number in range(1, 50)]


def drawn(count: int, seed: int = 1) -> list[list[Request]]:
    requests = Requests(SCENE, seed, CLICKS)
    return list(islice(iter(requests.next, []), count))


def test_a_seed_draws_the_same_requests() -> None:
    assert drawn(300) == drawn(300)
    assert drawn(300) != drawn(300, seed=2)


def test_no_number_is_sent_twice() -> None:
    numbers = [one.number for group in drawn(2000) for one in group]
    assert len(numbers) == len(set(numbers))


def test_every_request_carries_its_number() -> None:
    for one in (one for group in drawn(500) for one in group):
        text = one.data.decode()
        assert re.search(
            rf"[?&]n={one.number}(&| )|n%22%3A\+{one.number}%7D|n\": {one.number}}}", text
        )


def test_there_is_every_kind_of_request() -> None:
    groups = drawn(3000)
    text = b"".join(one.data for group in groups for one in group).decode()
    for part in ("GET /c/one", "GET /api/click?s=two&d=go.chaos.test", "Host: go.chaos.test"):
        assert part in text
    for part in ("POST /api/event", "GET /api/event?", "Googlebot", "Sec-Purpose: prefetch"):
        assert part in text
    ways = {
        (bool(re.search("pbk", one.data.decode())), bool(re.search("click_id", one.data.decode())))
        for group in groups
        for one in group
        if not one.is_click
    }
    assert ways == {(True, False), (False, True), (True, True)}


def test_transaction_ids_are_sent_at_once_and_again_later_with_the_same_fields() -> None:
    groups = drawn(5000)
    at_once = [group for group in groups if len(group) > 1]
    assert at_once
    assert all(len({one.transaction for one in group}) == 1 for group in at_once)
    assert all(group[0].transaction for group in at_once)
    first_of_group = Counter(group[0].transaction for group in groups if group[0].transaction)
    assert max(first_of_group.values()) > 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_are_whole(method: str) -> None:
    for one in (one for group in drawn(500) for one in group):
        head, _, body = one.data.partition(b"\r\n\r\n")
        if not head.startswith(method.encode()):
            continue
        length = re.search(rb"Content-Length: (\d+)", head)
        assert len(body) == (int(length[1]) if length else 0)
        assert not body or json.loads(body)["metadata"] == {"n": one.number}
