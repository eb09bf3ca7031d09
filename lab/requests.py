"""Requests as bytes, the ids read from their answers, and single requests."""

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from random import Random
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

import orjson

from lab.scene import PAGE_ORIGIN, Place, Scene

_MOZILLA: Final = "Mozilla/5.0"
_WEBKIT: Final = "AppleWebKit/537.36 (KHTML, like Gecko)"
_APPLE: Final = "AppleWebKit/605.1.15 (KHTML, like Gecko)"

NO_ANSWER: Final = "no answer"
ANSWER_SECONDS: Final = 20.0
PATIENCE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.5

_OWNER_ADDRESSES: Final = cycle([f"127.0.2.{number}" for number in range(1, 251)])
"""The owner of an account has many addresses, so that only the account's own limits hold."""

AGENTS: Final = (
    f"{_MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) {_APPLE} Version/18.1 Mobile/15E148 "
    "Safari/604.1",
    f"{_MOZILLA} (Linux; Android 15; Pixel 9) {_WEBKIT} Chrome/131.0.0.0 Mobile Safari/537.36",
    f"{_MOZILLA} (Windows NT 10.0; Win64; x64) {_WEBKIT} Chrome/131.0.0.0 Safari/537.36",
    f"{_MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) {_APPLE} Version/18.1 Safari/605.1.15",
    f"{_MOZILLA} (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
    f"{_MOZILLA} (Windows NT 10.0; Win64; x64) {_WEBKIT} Chrome/131.0.0.0 Safari/537.36 "
    "Edg/131.0.0.0",
    f"{_MOZILLA} (iPad; CPU OS 17_7 like Mac OS X) {_APPLE} Version/17.7 Mobile/15E148 "
    "Safari/604.1",
    f"{_MOZILLA} (Linux; Android 14; SM-S918B) {_WEBKIT} SamsungBrowser/26.0 Chrome/122.0.0.0 "
    "Mobile Safari/537.36",
    f"{_MOZILLA} (X11; Linux x86_64) {_WEBKIT} Chrome/130.0.0.0 Safari/537.36",
    f"{_MOZILLA} (Linux; Android 13; SM-X200) {_WEBKIT} Chrome/129.0.0.0 Safari/537.36",
    f"{_MOZILLA} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "curl/8.11.0",
)
"""User agents of people and of bots."""

_SOURCES: Final = ("newsletter", "shop", "bücher", "social", "partner")
_MEDIA: Final = ("email", "cpc", "banner")
_LANGUAGES: Final = ("en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.6", "fr-FR,fr;q=0.8")

_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLICK_ID: Final = re.compile(rb"\r\nlocation: \S*[?&]click_id=([0-9a-f-]{36})\r\n", re.IGNORECASE)
_EVENT_ID: Final = re.compile(rb"\r\nx-event-id: (\d+)\r\n", re.IGNORECASE)


def clicks(places: Sequence[Place], count: int, seed: int = 1) -> list[bytes]:
    """Return clicks that open every link once before any link a second time."""
    draw = Random(seed)  # noqa: S311
    return [_click(draw, places[number % len(places)], number) for number in range(count)]


def _click(draw: Random, place: Place, number: int) -> bytes:
    """Return a click as a browser sends it; `number` makes its query unique."""
    query = {"utm_source": draw.choice(_SOURCES), "utm_medium": draw.choice(_MEDIA), "n": number}
    if draw.random() < 0.3:
        query["gclid"] = f"{draw.getrandbits(160):040x}"
    headers = {
        "Host": place.host or "127.0.0.1",
        "User-Agent": draw.choice(AGENTS),
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": draw.choice(_LANGUAGES),
        "Accept-Encoding": "gzip, deflate, br",
    }
    if draw.random() < 0.5:
        headers["Referer"] = "https://news.test/today"
    return head("GET", f"{place.start}{place.slug}?{urlencode(query)}", headers)


def page_clicks(places: Sequence[Place]) -> list[bytes]:
    """Return clicks of pages, of five visitors of each link: each of them is a new click."""
    return [_page_click(place, number) for number in range(5) for place in places]


def _page_click(place: Place, number: int) -> bytes:
    body = {"slug": place.slug, "url": f"{PAGE_ORIGIN}/?utm_source=shop&utm_medium=cpc&n={number}"}
    agent = {"User-Agent": AGENTS[number], "Origin": PAGE_ORIGIN}
    # wrk.lua finds the end of a request by a blank line.
    return post("/api/click", "text/plain", json.dumps(body).encode() + _END, agent)


def events_by_key(scene: Scene, count: int) -> list[bytes]:
    return [event({"pbk": scene.pbks[0]}, number) for number in range(count)]


def events_by_click(click_ids: Sequence[UUID]) -> list[bytes]:
    return [event({"click_id": one}, number) for number, one in enumerate(click_ids)]


def event(fields: Mapping[str, object], number: int) -> bytes:
    query = {**fields, "value": f"{number % 10_000 / 100:.2f}"}
    return head("GET", f"/api/event?{urlencode(query)}", {"User-Agent": "Postback/1.0"})


def listing(scene: Scene) -> list[bytes]:
    headers = {"Authorization": f"Bearer {scene.key}", "Accept": "application/json"}
    return [head("GET", f"/api/short-links?accountId={scene.account_id}", headers)]


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {"Host": "127.0.0.1", **headers}.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def post(
    path: str, content_type: str, body: bytes, headers: Mapping[str, str] | None = None
) -> bytes:
    fields = {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}
    return head("POST", path, fields) + body


def post_json(path: str, fields: Mapping[str, Any]) -> bytes:
    return post(path, "application/json", json.dumps(fields).encode())


def click_id_of(answer: bytes) -> UUID | None:
    found = _CLICK_ID.search(answer)
    return UUID(found[1].decode()) if found else None


def event_id_of(answer: bytes) -> int | None:
    found = _EVENT_ID.search(answer)
    return int(found[1]) if found else None


def message_length(received: bytes) -> int | None:
    """Return the length of the message that `received` begins; None until its head is whole."""
    end = received.find(_END)
    if end < 0:
        return None
    length = _LENGTH.search(received, 0, end + 2)
    return end + len(_END) + (int(length[1]) if length else 0)


async def connect(
    port: int, source: str | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection from `source`, or from one of many addresses."""
    address = source or next(_OWNER_ADDRESSES)
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


async def ask(port: int, request: bytes, source: str | None = None) -> bytes:
    """Return the whole answer to `request`; empty if there is none within ANSWER_SECONDS."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await connect(port, source)
            try:
                writer.write(request)
                return await _answer(reader)
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return b""


async def call(
    port: int,
    key: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    source: str | None = None,
) -> tuple[str, Any]:
    """Return the status and the decoded JSON of an answer; without one, NO_ANSWER and None."""
    content = b"" if body is None else orjson.dumps(body)
    fields = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = head(method, path, {**fields, "Content-Length": str(len(content))}) + content
    answer = await ask(port, request, source)
    if not answer:
        return NO_ANSWER, None
    return answer[9:12].decode(), orjson.loads(answer.partition(_END)[2] or b"null")


async def call_until_answered(
    port: int, key: str, method: str, path: str, body: Mapping[str, Any] | None = None
) -> tuple[str, Any]:
    """Call again while the service has no answer, as clients do, for PATIENCE_SECONDS at most."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        status, value = await call(port, key, method, path, body)
        if status == "200" or time.monotonic() > deadline:
            return status, value
        await asyncio.sleep(_PAUSE_SECONDS)


async def _answer(reader: asyncio.StreamReader) -> bytes:
    start = await reader.readuntil(_END)
    return start + await reader.readexactly((message_length(start) or 0) - len(start))
