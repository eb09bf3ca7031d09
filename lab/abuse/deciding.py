"""Attacks on links: the longest queries, a thousand fetchers of previews, pages of strangers."""

import secrets
from collections.abc import Iterator
from itertools import cycle
from typing import Any, Final
from uuid import uuid4

import orjson

from lab.abuse.attack import Report, Target, barrage, from_new_address, made
from lab.requests import AGENTS, ask, call, head, post

_OWN: Final = "https://shop.test/own"
_BYTES: Final = 56_000
"""Nearly as many as a query may have. One of 64 KiB is refused, as is one of 1,001 parameters."""

_QUERIES: Final = (
    "&".join(f"a{number}={'b' * 50}" for number in range(1_000)),
    "&".join([f"%61{'%62' * 18}=%63"] * 900),
    *("+" * _BYTES, "%" * _BYTES, "a&" * 2_000, "a=b&" * 16_384),
)
_FETCHERS: Final = ("facebookexternalhit/1.1", "WhatsApp/2.24", "Slackbot-LinkExpanding 1.0", "")
_RATE: Final = 20
"""Requests a second: each takes 10 ms, on a link without rules too, nearly all of it to parse."""

_CLICKS: Final = 10
_FETCHES: Final = 1_000


async def long_queries(target: Target, seconds: float) -> Report:
    """Open a link of 20 rules with 10 conditions each, of which nearly all hold."""
    slug = (await _make_link(target, rules=list(_rules())))["slug"]
    queries = cycle(_QUERIES)

    def make() -> bytes:
        fields = {"User-Agent": AGENTS[2], "Accept-Language": "en," * 2_000, **from_new_address()}
        return head("GET", f"/c/{slug}?{next(queries)}", fields)

    return await barrage(target.port, make, _RATE, seconds, {"302", "400", "414", "cut off"})


async def tool_calls(target: Target, seconds: float) -> Report:
    """Ask as a model why a link decides, list its tools, and send what is no message."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/%b"}'
    tool = b'call","params":{"name":"explain_decision","arguments":{"id":"%b"}},"_":"'
    bodies = cycle([call % (tool % str(uuid4()).encode()), call % b"list", b"[" * 16_000])
    key = {"Authorization": f"Bearer {target.guarded.key}"}

    def make() -> bytes:
        return post("/mcp", "application/json", next(bodies), key | from_new_address())

    return await barrage(target.port, make, 100, seconds, {"200", "400", "429"})


async def previews(target: Target, seconds: float) -> Report:
    """Fetch a link of two variants and ten clicks: nobody draws, and nothing is used up."""
    variants = [
        {"name": name, "destination_url": f"https://shop.test/{name}", "weight": 1} for name in "ab"
    ]
    link = await _make_link(target, split={"variants": variants}, max_clicks=_CLICKS)
    fetchers = cycle(_FETCHERS)

    def make() -> bytes:
        fields = {"User-Agent": next(fetchers), **from_new_address()}
        return head("GET", f"/c/{link['slug']}", fields)

    found = await barrage(target.port, make, _FETCHES / seconds, seconds, {"302"}, connections=64)
    answers = [await ask(target.port, make()) for _ in _FETCHERS]
    if not all(_OWN.encode() in answer for answer in answers):
        found.findings.append("a preview is not of the link's own destination")
    path = f"/api/short-links/{link['id']}?accountId={target.attacker.account_id}"
    _, row = await call(target.port, target.attacker.key, "GET", path)
    if row["clicks_left"] != _CLICKS:
        found.findings.append(f"previews have left {row['clicks_left']} of {_CLICKS} clicks")
    return found


async def foreign_pages(target: Target, seconds: float) -> Report:
    """Report clicks of a neighbour's link from pages of a new origin and address each time."""

    def make() -> bytes:
        origin = f"https://{secrets.token_hex(5)}.test"
        fields = {"Origin": origin, "User-Agent": AGENTS[2], **from_new_address()}
        body = orjson.dumps({"slug": target.neighbour.slug, "domain": target.domain, "url": origin})
        return post("/api/click", "text/plain", body, fields)

    return await barrage(target.port, make, 1_000, seconds, {"403", "429"}, connections=64)


def _rules() -> Iterator[dict[str, Any]]:
    for number in range(20):
        holding = [{"query": {"key": f"k{number}-{at}"}, "not": True} for at in range(9)]
        conditions = [*holding, {"query": {"key": f"k{number}"}}]
        yield {"name": f"{number}", "conditions": conditions, "destination_url": _OWN}


async def _make_link(target: Target, **fields: Any) -> dict[str, Any]:
    body = {"accountId": target.attacker.account_id, "destination_url": _OWN, **fields}
    return dict(await made(target.port, target.attacker.key, "/api/short-links", body))
