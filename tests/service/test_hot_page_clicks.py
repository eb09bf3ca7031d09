"""Clicks of pages are answered alike by the fast path and by the handler."""

import pytest

from tests.factories import create_link
from tests.service.ways import WAY, Sent, both_ways
from tests.web.records import journaled_clicks
from tracker.ids import new_id
from tracker.service.services import Services

pytestmark = pytest.mark.redis

HEAD = f"Host: tracker.test\r\nUser-Agent: {WAY}"
PLAIN = f"{HEAD}\r\nOrigin: https://tracker.test\r\nContent-Type: text/plain"
PAGE = b'"url":"https://shop.example/?a=1"'
CLICK = b'{"slug":"abc",%b}' % PAGE

TAKEN = (
    (PLAIN, CLICK),
    (PLAIN.replace("text/plain", "application/json; charset=utf-8"), CLICK),
    (f"{PLAIN}\r\nX-Request-Id: mine\r\nSec-Purpose: prefetch", CLICK + b"\r\n\r\n"),
    (PLAIN.replace("tracker", "evil"), CLICK),
    (PLAIN.replace("Origin: https://tracker.test\r\n", ""), CLICK),
    (PLAIN, b'{"slug":"none",%b}' % PAGE),
    (PLAIN, b'{"slug":"protected",%b}' % PAGE),
    (
        PLAIN,
        b'{"slug":"abc","consent":"granted","referrer":"https://x.example/\xc3\xbc",%b}' % PAGE,
    ),
)
"""Heads and bodies that the fast path takes."""

LEFT = (
    (PLAIN, b'{"slug":"abc"}'),
    (PLAIN, b"{"),
    (PLAIN, b'{"slug":"abc","url":"https://x.example/\xff"}'),
    (PLAIN, CLICK + b" " * 16_384),
    (f"{PLAIN}\r\nExpect: 100-continue", CLICK),
    (f"{PLAIN}\r\nContent-Encoding: gzip", b"\x1f\x8b"),
    (f"{PLAIN}\r\nConnection: close", CLICK),
    (HEAD, CLICK),
    (PLAIN.replace("text/plain", "application/x-www-form-urlencoded"), b"password=x"),
)


def request(head: str, body: bytes, target: str = "/api/click") -> Sent:
    length = f"Content-Length: {len(body)}"
    return Sent("POST", f"POST {target} HTTP/1.1\r\n{head}\r\n{length}\r\n\r\n".encode() + body)


async def test_both_ways_answer_alike_alone_and_with_other_requests_behind(
    services: Services,
) -> None:
    for slug, options in (("abc", {}), ("protected", {"password_hash": "x"})):
        await create_link(services, new_id(), slug, **options)
    get = Sent("GET", f"GET /c/abc HTTP/1.1\r\n{HEAD}\r\n\r\n".encode())
    taken, left = ([request(*one) for one in rows] for rows in (TAKEN, LEFT))
    async with both_ways(services) as ways:
        await ways.compare([[one] for one in taken])
        assert ways.fast_path.taken["POST /api/click"] == len(TAKEN)
        await ways.compare([[one] for one in left])
        assert ways.fast_path.taken["POST /api/click"] == len(TAKEN)
        answers = await ways.compare([[get, *taken, get, left[0], taken[0], get]])
        assert [one[9:12] for one in answers].count(b"302") == 3
        assert ways.fast_path.taken["POST /api/click"] == 2 * len(TAKEN) + 1
        await ways.compare([[request(PLAIN, CLICK, "/api/click?s=abc")]])
    by_page = [one for one in await journaled_clicks(services) if one.query == "a=1"]
    assert len({(one.user_agent, one.link_id) for one in by_page}) == len(by_page) == 2


async def test_a_body_that_comes_in_pieces_is_recorded_too(services: Services) -> None:
    await create_link(services, new_id())
    whole = request(PLAIN, CLICK).raw
    async with both_ways(services) as ways:
        await ways.fast.answers([])
        assert ways.fast._connection is not None
        reader, writer = ways.fast._connection
        for piece in (whole[:-10], whole[-10:]):
            writer.write(piece)
            await writer.drain()
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
