"""Prepared requests are of every kind, and ids are read from answers."""

import re
from uuid import UUID

import pytest

from lab import requests
from lab.requests import click_id_of, event_id_of
from lab.scene import Place, Scene
from lab.traffic import EVENT_SHARE, Mixed
from tests.lab.answering import CLICK_ID, REDIRECT

SCENE = Scene(UUID(int=1), "key", [Place(f"load{number}") for number in range(20)], ["pbk-1"], {})
RECORDED = b"HTTP/1.1 200 OK\r\nX-Event-Id: 12\r\nContent-Length: 2\r\n\r\n{}"


def test_clicks_open_every_link_as_several_browsers_and_bots_do() -> None:
    clicks = requests.clicks(SCENE, 200)
    assert clicks == requests.clicks(SCENE, 200) != requests.clicks(SCENE, 200, seed=2)
    assert len(set(clicks)) == 200
    slugs = {found[1].decode() for one in clicks if (found := re.match(rb"GET /c/(\w+)\?", one))}
    assert slugs == {place.slug for place in SCENE.places}
    agents = {found[1] for one in clicks if (found := re.search(rb"User-Agent: (.*)\r", one))}
    assert len(agents) > 5
    assert any(b"Googlebot" in agent for agent in agents)


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
