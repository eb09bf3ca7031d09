"""Requests as bytes, prepared before a load, and the ids read from their answers. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from lab.scene import Scene

_MOZILLA: Final = "Mozilla/5.0"
_WEBKIT: Final = "AppleWebKit/537.36 (KHTML, like Gecko)"
_APPLE: Final = "AppleWebKit/605.1.15 (KHTML, like Gecko)"

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

_CLICK_ID: Final = re.compile(rb"\r\nlocation: \S*[?&]click_id=([0-9a-f-]{36})\r\n", re.IGNORECASE)
_EVENT_ID: Final = re.compile(rb"\r\nx-event-id: (\d+)\r\n", re.IGNORECASE)


def clicks(scene: Scene, count: int, seed: int = 1) -> list[bytes]:
    """Return clicks that open every link once before any link a second time."""
    draw, places = Random(seed), scene.places  # noqa: S311
    return [click(draw, places[number % len(places)].slug, number) for number in range(count)]


def click(draw: Random, slug: str, number: int) -> bytes:
    """Return a click as a browser sends it; `number` makes its query unique."""
    query = {"utm_source": draw.choice(_SOURCES), "utm_medium": draw.choice(_MEDIA), "n": number}
    if draw.random() < 0.3:
        query["gclid"] = f"{draw.getrandbits(160):040x}"
    headers = {
        "User-Agent": draw.choice(AGENTS),
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": draw.choice(_LANGUAGES),
        "Accept-Encoding": "gzip, deflate, br",
    }
    if draw.random() < 0.5:
        headers["Referer"] = "https://news.test/today"
    return head("GET", f"/c/{slug}?{urlencode(query)}", headers)


def events_by_key(scene: Scene, count: int) -> list[bytes]:
    """Return events that name the scene's first postback key."""
    return [event({"pbk": scene.pbks[0]}, number) for number in range(count)]


def events_by_click(click_ids: Sequence[UUID]) -> list[bytes]:
    """Return an event for each click id."""
    return [event({"click_id": one}, number) for number, one in enumerate(click_ids)]


def event(fields: Mapping[str, object], number: int) -> bytes:
    """Return an event as the server of an ad network sends it."""
    query = {**fields, "value": f"{number % 10_000 / 100:.2f}"}
    return head("GET", f"/api/event?{urlencode(query)}", {"User-Agent": "Postback/1.0"})


def listing(scene: Scene) -> list[bytes]:
    """Return the request for the newest short links."""
    headers = {"Authorization": f"Bearer {scene.key}", "Accept": "application/json"}
    return [head("GET", f"/api/short-links?accountId={scene.account_id}", headers)]


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Return everything before the body of a request."""
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {"Host": "127.0.0.1", **headers}.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def post(
    path: str, content_type: str, body: bytes, headers: Mapping[str, str] | None = None
) -> bytes:
    """Return a POST of `body`."""
    fields = {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}
    return head("POST", path, fields) + body


def post_json(path: str, fields: Mapping[str, Any]) -> bytes:
    """Return a POST of `fields` as a JSON object."""
    return post(path, "application/json", json.dumps(fields).encode())


def click_id_of(answer: bytes) -> UUID | None:
    """Return the click id that a redirect names; None if there is none."""
    found = _CLICK_ID.search(answer)
    return UUID(found[1].decode()) if found else None


def event_id_of(answer: bytes) -> int | None:
    """Return the event id that an answer of `/api/event` names; None if there is none."""
    found = _EVENT_ID.search(answer)
    return int(found[1]) if found else None
