"""Requests are answered alike by the fast path and by the handlers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st
from tornado.platform.asyncio import AsyncIOLoop

from config.settings import Settings
from tests.factories import create_click, create_event_config, create_link
from tests.service.visits import DOMAINS, LINKS, OPTIONS, Known, visit
from tests.service.ways import Sent, Ways, both_ways
from tests.stores.redis.own_redis import unavailable_redis
from tests.waiting import eventually
from tests.web.records import journaled
from tracker.clicks.click import Click
from tracker.clicks.redirects.protection import new_pass
from tracker.clock import now_ms
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import PayoutType
from tracker.ids import new_id
from tracker.links.options import password_key
from tracker.service.background import SERVING, running
from tracker.service.hot_requests import HotRequests
from tracker.service.services import Services

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "behind one proxy": {"trusted_proxies": "1", "country_header": "CF-IPCountry"},
    "behind networks": {"trusted_proxies": "127.0.0.0/8,9.9.9.9/32", "country_header": "x-empty"},
}
SOME = how(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""Hypothesis settings: all examples use one service, because their records are not compared."""

REQUESTS = 1400
"""Generated requests for each configuration."""

FAST_PATHS = ("GET /c/", "HEAD /c/", "GET /api/click", "HEAD /api/click", "GET /api/event")


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """Return the settings with the changes that the test is parametrized with."""
    return msgspec.structs.replace(settings, **getattr(request, "param", {}))


@pytest.fixture
def known(services: Services, io_loop: AsyncIOLoop) -> Iterator[Known]:
    """Run the loops of serving; yield the ids that generated requests may name."""
    loops = running(SERVING, services, services.loops)
    io_loop.run_sync(loops.__aenter__)
    yield io_loop.run_sync(lambda: prepared(services))
    io_loop.run_sync(lambda: loops.__aexit__(None, None, None))


async def prepared(services: Services) -> Known:
    await services.stores.mongodb["counters"].update_one(
        {"_id": "event_id"}, {"$set": {"last": 1_000_000_000}}, upsert=True
    )
    await services.conversions.event_ids.start()
    await eventually(
        lambda: services.links.link_cache.verified and services.links.domain_cache.verified
    )
    account_id, other_id = new_id(), new_id()
    for slug, url in LINKS.items():
        link = await create_link(services, account_id, slug, url)
    await services.links.links.change(link.id, {"active": False})
    for slug, options in OPTIONS.items():
        await create_link(services, account_id, slug, **options)
    for name in DOMAINS:
        domain = await services.links.domains.create(account_id, name)
        if name != "waiting.example":
            domain = await services.links.domains.verify(domain.id)
        await create_link(services, account_id, "abc", f"https://{name}/custom", domain=domain)
    configs = [
        await create_event_config(services, owner_id, payout_type)
        for owner_id in (account_id, other_id)
        for payout_type in (PayoutType.CPA, PayoutType.REV_SHARE)
    ]
    aliases = {"cid": "click_id", "payout": "value", "tid": "transaction_id"}
    configs += [
        await create_event_config(services, account_id, payout_type, parameter_aliases=aliases)
        for payout_type in (PayoutType.CPA, PayoutType.REV_SHARE)
    ]
    clicks = [await create_click(services, owner_id) for owner_id in (account_id, other_id)]
    return Known(
        (*(config.pbk for config in configs), configs[0].pbk, "unknown", "", "%FF"),
        (*map(str, clicks), str(clicks[0]).upper(), str(new_id()), "7", ""),
    )


@pytest.fixture
def both(services: Services, known: Known, io_loop: AsyncIOLoop) -> Iterator[tuple[Ways, Known]]:
    """Yield both servers, and the ids that generated requests may name."""
    opened = both_ways(services)
    yield io_loop.run_sync(opened.__aenter__), known
    io_loop.run_sync(lambda: opened.__aexit__(None, None, None))


def generated(known: Known, seed: int, count: int) -> list[list[Sent]]:
    """Return at least `count` random requests, in groups that are sent at once."""
    random = Random(seed)
    groups: list[list[Sent]] = []
    while sum(map(len, groups)) < count:
        groups.append([visit(random, known) for _ in range(random.choice((1, 1, 1, 2, 5)))])
    return groups


OF_EACH_ANSWER = (
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nAccept: text/html"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nAccept: application/json"),
    (b"GET /c/none HTTP/1.1", b"Host: tracker.test"),
    (b"HEAD /c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"OPTIONS /c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"POST /c/abc HTTP/1.1", b"Host: tracker.test\r\nContent-Length: 0"),
    (b"GET /c/abc HTTP/2.0", b"Host: tracker.test"),
    (b"GET /api/event?click_id=%b HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/event?click_id=%b HTTP/1.1", b"Host: tracker.test\r\nAccept: image/*"),
    (b"GET /api/event?click_id=7 HTTP/1.1", b"Host: tracker.test"),
)
"""Request lines and fields of every answer that a test asks for, however the others are drawn."""


def groups_of(known: Known, seed: int, count: int) -> list[list[Sent]]:
    """Return those of OF_EACH_ANSWER, one after the other, and generated ones."""
    chosen = [[request(known, *row)] for row in OF_EACH_ANSWER]
    return chosen + generated(known, seed, count)


@pytest.mark.parametrize(
    ("settings", "seed"),
    [(configuration, seed) for seed, configuration in enumerate(CONFIGURATIONS.values())],
    ids=CONFIGURATIONS,
    indirect=["settings"],
)
async def test_generated_requests_are_answered_and_recorded_alike(
    services: Services, known: Known, seed: int
) -> None:
    async with both_ways(services) as ways:
        answers = await ways.compare(groups_of(known, seed, REQUESTS))
    recorded = ways.recorded(await journaled(services))
    check_shares(ways)
    assert len(answers) >= 0.8 * REQUESTS
    statuses = {answer[9:12] for answer in answers}
    assert statuses >= {b"200", b"204", b"302", b"400", b"401", b"404", b"405", b"505"}
    assert {type(record) for record in recorded} == {Click, Conversion}


async def test_a_pass_is_accepted_alike(services: Services, known: Known) -> None:
    link = await create_link(services, new_id(), "mine", **OPTIONS["locked"])
    key = password_key(OPTIONS["locked"]["password_hash"])
    granted = new_pass(link.id.bytes, key, now_ms()).encode()
    fields = [
        b"Host: tracker.test\r\n%b" % one
        for one in (
            b"Cookie: a=b; %b" % granted,
            b"Cookie: %b\r\nAccept: text/html" % granted.replace(b"=", b"=1", 1),
            b"Cookie: a=b\r\nCookie: %b" % granted,
        )
    ]
    lines = [b"GET /c/mine HTTP/1.1", b"HEAD /api/click?s=mine HTTP/1.1"]
    async with both_ways(services) as ways:
        sent = [[request(known, line, one)] for line in lines for one in fields]
        answers = await ways.compare(sent)
        assert sum(ways.fast_path.taken.values()) == 4
    assert [answer[9:12] for answer in answers] == [b"302", b"401", b"302"] * 2
    assert len(ways.recorded(await journaled(services))) == 2


def check_shares(ways: Ways) -> None:
    """Check that the fast path took many requests of each kind, but not all."""
    offered, taken = ways.fast_path.offered, ways.fast_path.taken
    for kind in FAST_PATHS:
        assert offered[kind] / 4 < taken[kind] < offered[kind], kind
    assert taken["other"] == 0 < offered["other"]
    assert 0 < taken["GET /"] < offered["GET /"]


@SOME
@given(
    start=st.sampled_from(("/c/abc", "/c/", "/api/click?s=abc", "/api/event?", "/c/macros?")),
    target=st.binary(max_size=12).map(lambda raw: raw.translate(None, b"\r\n")),
    field=st.binary(max_size=12).map(lambda raw: raw.translate(None, b"\r\n")),
    name=st.sampled_from(("User-Agent", "Connection", "X-Request-Id", "Accept", "X", "Host")),
)
def test_any_bytes_in_a_target_or_a_field_are_answered_alike(
    io_loop: AsyncIOLoop,
    both: tuple[Ways, Known],
    start: str,
    target: bytes,
    field: bytes,
    name: str,
) -> None:
    line = b"GET %b%b HTTP/1.1" % (start.encode(), target)
    raw = b"%b\r\nHost: tracker.test\r\n%b: %b\r\n\r\n" % (line, name.encode(), field)
    io_loop.run_sync(lambda: both[0].compare([[Sent("GET", raw)]]))


USUAL = (
    (b"GET /c/none HTTP/1.1", b"Host: tracker.test"),
    (b"GET /c/abc?d=none.example HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/click?a=1 HTTP/1.1", b"Host: tracker.test"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"HEAD /c/macros?a=1&b HTTP/1.1", b"hOST:tracker.test \t"),
    (b"GET /c/abc?a=%2f HTTP/1.1", b"Host: go.example:80\r\nUser-Agent:"),
    (b"GET /c/abc?a=1 HTTP/1.1", b"Host: tracker.test\r\nX-Any: 1\r\nX-Any: 2"),
    (b"GET /api/click?s=abc HTTP/1.1", b"Host: tracker.test\r\nConnection: keep-alive"),
    (b"GET /api/click?a=1&%73=abc HTTP/1.1", b"Host: tracker.test\r\nCookie: \xc3\xa9"),
    (b"HEAD /api/click?s=abc&d= HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/event?click_id=%b HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/event?a=1&click_id=%b&value=2 HTTP/1.1", b"Host: tracker.test\r\nAccept: image/*"),
    (b"GET /api/event?click_id=%b HTTP/1.1", b"Host: tracker.test\r\nWebhook-Id: "),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nwebhook-id: msg_1"),
    (b"GET /abc HTTP/1.1", b"Host: go.example"),
    (b"HEAD /ab%63/?a=1 HTTP/1.1", b"Host: GO.Example.:80"),
    (b"GET /abc, HTTP/1.1", b"Host: go.example"),
    (b"GET /none HTTP/1.1", b"Host: go.example"),
)
"""Request lines and fields that the fast path takes."""

UNUSUAL = (
    (b"GET /c/%61bc HTTP/1.1", b"Host: tracker.test"),
    (b"GET /abc HTTP/1.1", b"Host: tracker.test"),
    (b"GET /abc HTTP/1.1", b"Host: waiting.example"),
    (b"GET /robots.txt HTTP/1.1", b"Host: go.example"),
    (b"OPTIONS /abc HTTP/1.1", b"Host: go.example"),
    (b"GET /c/a\xff HTTP/1.1", b"Host: tracker.test"),
    (b"GET /c/abc?a=\xff HTTP/1.1", b"Host: tracker.test"),
    (b"OPTIONS /c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"POST /c/abc HTTP/1.1", b"Host: tracker.test\r\nContent-Length: 0"),
    (b"get /c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"GET /c/abc HTTP/1.0", b"Host: tracker.test"),
    (b"GET  /c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"GET http://tracker.test/c/abc HTTP/1.1", b"Host: tracker.test"),
    (b"GET /c/abc HTTP/1.1", b"A: b"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nHost: tracker.test"),
    (b"GET /c/abc HTTP/1.1", b"Host : tracker.test"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nConnection: close"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nConnection: upgrade\r\nUpgrade: h2c"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nContent-Length: 0"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nExpect: 100-continue"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nUser-Agent: a\r\n b"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nUser-Agent: a\r\nuser-agent: b"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nUser-Agent: a\x00b"),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test\r\nX: " + b"x" * 9000),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test" + b"\r\nX: x" * 101),
    (b"GET /api/click/?s=abc HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/event?value=1 HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/event?click_id=7 HTTP/1.1", b"Host: tracker.test"),
    (b"HEAD /api/event?click_id=%b HTTP/1.1", b"Host: tracker.test"),
    (b"GET /api/event?click_id=%b HTTP/1.1", b"Host: tracker.test\r\nwebhook-id: msg_1"),
    (
        b"GET /api/event?click_id=%b HTTP/1.1",
        b"Host: tracker.test\r\nWebhook-Id:\tmsg_2\r\nAccept: image/*",
    ),
    # Tornado rejects those below.
    (b"GET /c/abc HTTP/1.1", b"Host: tracker test"),
    (b"GET /c/abc HTTP/1.1", b'Host: "tracker.test"'),
    (b"GET /c/abc HTTP/1.1", b"Host: tracker.test,tracker.test"),
    (b"GET /c/abc HTTP/1.1", b"Host: caf\xc3\xa9.test"),
    (b"GET /c/abc HTTP/1.1", b"Host: a%zz"),
    (b"GET /c/abc?" + b"&" * 1000 + b" HTTP/1.1", b"Host: tracker.test"),
)
"""Request lines and fields that the fast path leaves to the handlers."""


def request(known: Known, line: bytes, fields: bytes) -> Sent:
    line = line.replace(b"%b", known.click_ids[0].encode())
    return Sent(line.partition(b" ")[0].decode(), b"%b\r\n%b\r\n\r\n" % (line, fields))


async def test_usual_requests_are_taken_and_unusual_ones_are_left_to_the_handlers(
    services: Services, known: Known
) -> None:
    warm = [[request(known, *row)] for row in USUAL]
    async with both_ways(services) as ways:
        await ways.compare(warm)
        await ways.compare(warm)
        assert sum(ways.fast_path.taken.values()) == 2 * len(USUAL)
        await ways.compare([[request(known, *row)] for row in UNUSUAL])
        assert sum(ways.fast_path.taken.values()) == 2 * len(USUAL)


async def test_while_redis_is_unavailable_both_ways_write_to_the_spool(
    services: Services, known: Known, settings: Settings, tmp_path: Path
) -> None:
    # In a folder of its own: the running services replay what is in theirs.
    apart = msgspec.structs.replace(settings, data_dir=str(tmp_path / "apart"))
    without_redis = Services(msgspec.structs.replace(apart, redis_url=unavailable_redis()))
    async with both_ways(without_redis) as ways:
        answers = await ways.compare(groups_of(known, 21, 500))
        check_taken(ways)
    await without_redis.stop()
    await without_redis.close()
    assert {answer[9:12] for answer in answers} >= {b"200", b"302", b"400", b"404"}
    assert await journaled(services) == []
    with_redis = Services(apart)
    while await with_redis.journal.journal.replay_once():
        pass
    await with_redis.stop()
    await with_redis.close()
    assert {type(one) for one in ways.recorded(await journaled(services))} == {Click, Conversion}


async def test_with_a_full_spool_both_ways_answer_503(
    services: Services, known: Known, settings: Settings
) -> None:
    full = Services(
        msgspec.structs.replace(settings, redis_url=unavailable_redis(), spool_max_bytes=1)
    )
    async with both_ways(full) as ways:
        answers = await ways.compare(groups_of(known, 32, 600))
        check_taken(ways)
    await full.stop()
    await full.close()
    check_refused(answers)


async def test_with_too_many_waiting_appends_both_ways_answer_503(
    services: Services, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = services.journal.journal
    for batch in (journal._batch, journal._appender.limited):
        monkeypatch.setattr(batch, "_waiting_items", 0)
    async with both_ways(services) as ways:
        check_refused(await ways.compare(groups_of(known, 23, 600)))
    assert await journaled(services) == []


class Unanswerable:
    """A connection on which every answer fails."""

    peer = "9.9.9.9"

    def is_closing(self) -> bool:
        return False

    def take_body(self, end: int) -> None:
        raise ValueError("unanswerable")

    def answer(self, data: bytes, keep_alive: bool) -> None:
        raise ValueError("unanswerable")


@pytest.mark.parametrize(
    "target", ["/c/unknown?email=ann", "/api/event?transaction_id=ann&pbk=" + "a" * 26]
)
async def test_a_fast_path_that_fails_late_logs_nothing_of_what_was_sent(
    services: Services, caplog: pytest.LogCaptureFixture, target: str
) -> None:
    fields = "Host: tracker.test\r\nUser-Agent: ann\r\nX-Forwarded-For: ann\r\n\r\n"
    raw = f"GET {target} HTTP/1.1\r\n{fields}".encode()
    assert HotRequests(services)(Unanswerable(), raw, 0, len(raw))
    await eventually(lambda: "unanswerable" in caplog.text)
    assert "ann" not in caplog.text


def check_refused(answers: Sequence[bytes]) -> None:
    """Check for 503 as a page, JSON and an image, and for 302 where nothing is recorded."""
    bodies = {(answer[9:12], answer.partition(b"\r\n\r\n")[2][:3]) for answer in answers}
    assert bodies >= {(b"503", b"<!d"), (b"503", b'{"e'), (b"503", b"GIF"), (b"302", b"")}
    refused_events = [one for one in answers if one[9:12] == b"503" and b"\r\nAccess-Cont" in one]
    assert refused_events
    assert all(b"\r\nRetry-After: 5\r\n" in one for one in refused_events)


def check_taken(ways: Ways) -> None:
    assert sum(ways.fast_path.taken.values()) > sum(ways.fast_path.offered.values()) / 5
