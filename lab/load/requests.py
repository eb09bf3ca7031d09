"""Requests as bytes, prepared before a load: what browsers and networks send. Pure."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from lab.load.scene import Scene
from lab.traffic import AGENTS

_SOURCES: Final = ("newsletter", "shop", "bücher", "social", "partner")
_MEDIA: Final = ("email", "cpc", "banner")
_LANGUAGES: Final = ("en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.6", "fr-FR,fr;q=0.8")


def clicks(scene: Scene, count: int, seed: int = 1) -> list[bytes]:
    """Every link is opened before one is opened again."""
    draw = Random(seed)  # noqa: S311
    return [click(draw, scene.slugs[number % len(scene.slugs)], number) for number in range(count)]


def click(draw: Random, slug: str, number: int) -> bytes:
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
    return [event({"pbk": scene.pbk}, number) for number in range(count)]


def events_by_click(click_ids: Sequence[UUID]) -> list[bytes]:
    return [event({"click_id": one}, number) for number, one in enumerate(click_ids)]


def event(fields: Mapping[str, object], number: int) -> bytes:
    """As a network's server sends it."""
    query = {**fields, "value": f"{number % 10_000 / 100:.2f}"}
    return head("GET", f"/api/event?{urlencode(query)}", {"User-Agent": "Postback/1.0"})


def listing(scene: Scene) -> list[bytes]:
    """The newest short links."""
    headers = {"Authorization": f"Bearer {scene.key}", "Accept": "application/json"}
    return [head("GET", f"/api/short-links?accountId={scene.account_id}", headers)]


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Everything before the body."""
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {"Host": "127.0.0.1", **headers}.items()]
    return "\r\n".join([*lines, "", ""]).encode()
