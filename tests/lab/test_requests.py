"""Prepared requests are valid, and ids are read from answers."""

from uuid import UUID

import httptools
import pytest

from lab import requests
from lab.requests import click_id_of, event_id_of
from lab.scene import Place, Scene
from lab.traffic import EVENT_SHARE, Mixed
from tests.lab.answering import CLICK_ID, REDIRECT
from tracker.conversions.parameters import parse_text

SCENE = Scene(UUID(int=1), "key", [Place(f"load{number}") for number in range(20)], ["pbk-1"], {})
RECORDED = b"HTTP/1.1 200 OK\r\nX-Event-Id: 12\r\nContent-Length: 2\r\n\r\n{}"


class Parsed:
    """A request, parsed as the service parses it."""

    def __init__(self, data: bytes) -> None:
        self.url = b""
        self.fields: dict[bytes, bytes] = {}
        self.ends = 0
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(data)
        self.method = parser.get_method()
        assert self.ends == 1
        assert data.endswith(b"\r\n\r\n")
        assert data.count(b"\r\n\r\n") == 1

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        assert name not in self.fields
        self.fields[name] = value

    def on_message_complete(self) -> None:
        self.ends += 1


def test_clicks_open_every_link_as_several_browsers_and_bots_do() -> None:
    parsed = [Parsed(data) for data in requests.clicks(SCENE, 200)]
    paths = [one.url.partition(b"?")[0].decode() for one in parsed]
    assert set(paths) == {f"/c/{place.slug}" for place in SCENE.places}
    assert len({one.url for one in parsed}) == 200
    agents = {one.fields[b"User-Agent"] for one in parsed}
    assert len(agents) > 5
    assert any(b"Googlebot" in agent for agent in agents)
    assert {len(one.fields) for one in parsed} == {5, 6}


def test_the_same_seed_makes_the_same_clicks() -> None:
    assert requests.clicks(SCENE, 50) == requests.clicks(SCENE, 50)
    assert requests.clicks(SCENE, 50) != requests.clicks(SCENE, 50, seed=2)


def test_events_are_valid_conversions() -> None:
    click_ids = [UUID(int=8), UUID(int=9)]
    by_key = requests.events_by_key(SCENE, 3)
    by_click = requests.events_by_click(click_ids)
    sent = [parse_text(Parsed(data).url.partition(b"?")[2]) for data in [*by_key, *by_click]]
    assert [one.pbk for one in sent] == ["pbk-1"] * 3 + [None] * 2
    assert [one.click_id for one in sent] == [None] * 3 + click_ids
    assert all(one.value is not None for one in sent)


def test_the_list_is_asked_for_with_the_key() -> None:
    [data] = requests.listing(SCENE)
    parsed = Parsed(data)
    assert parsed.url == f"/api/short-links?accountId={SCENE.account_id}".encode()
    assert parsed.fields[b"Authorization"] == b"Bearer key"


@pytest.mark.parametrize(
    ("answer", "click_id", "event_id"),
    [
        (REDIRECT, CLICK_ID, None),
        (REDIRECT.replace(b"Location", b"location"), CLICK_ID, None),
        (REDIRECT.replace(b"click_id", b"other"), None, None),
        (RECORDED, None, 12),
        (RECORDED.lower(), None, 12),
        (RECORDED.replace(b"12", b"x"), None, None),
    ],
)
def test_ids_are_read_from_answers(
    answer: bytes, click_id: UUID | None, event_id: int | None
) -> None:
    assert click_id_of(answer) == click_id
    assert event_id_of(answer) == event_id


def test_mixed_traffic_keeps_the_ids_and_sends_events_of_answered_clicks() -> None:
    traffic = Mixed(SCENE)
    assert traffic.is_expected(b"GET /c/load1", REDIRECT)
    sent = [traffic.next() for _ in range(2000)]
    events = [data for data in sent if data.startswith(b"GET /api/event")]
    assert abs(len(events) / len(sent) - EVENT_SHARE) < 0.05
    of_clicks = [data for data in events if b"click_id=" in data]
    assert abs(len(of_clicks) / len(events) - 0.5) < 0.1
    assert all(f"click_id={CLICK_ID}&".encode() in data for data in of_clicks)
    assert traffic.is_expected(events[0], RECORDED)
    assert (traffic.clicks, traffic.click_ids(0, 10)) == (1, [CLICK_ID.bytes])
    assert traffic.event_ids.tolist() == [12]


@pytest.mark.parametrize(
    ("request_head", "answer"),
    [
        (b"GET /c/load1", RECORDED),
        (b"GET /c/load1", REDIRECT.replace(b"click_id", b"other")),
        (b"GET /c/load1", REDIRECT.replace(b"302", b"307")),
        (b"GET /api/event?pbk=1", REDIRECT),
        (b"GET /api/event?pbk=1", RECORDED.replace(b"200", b"503")),
    ],
)
def test_no_id_is_kept_from_an_unexpected_answer(request_head: bytes, answer: bytes) -> None:
    traffic = Mixed(SCENE)
    assert not traffic.is_expected(request_head, answer)
    assert (traffic.clicks, len(traffic.event_ids)) == (0, 0)
