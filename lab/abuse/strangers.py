"""Attacks by strangers without a key: floods, oversized or unfinished requests, forgeries."""

import asyncio
import random
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlencode
from uuid import UUID, uuid4

import orjson

from lab.abuse.attack import ADDRESS, Report, Target, barrage, conversions, unexpected
from lab.requests import AGENTS, NO_ANSWER, ask, click_id_of, connect, head, post

_MEGABYTE: Final = 1024 * 1024
_UNFINISHED_BODIES: Final = 60
_IDLE_CONNECTIONS: Final = 2_000
_HOARDER: Final = "127.0.0.67"
"""An address whose connections are counted; those of the attacker's proxy are not."""

_CLOSED: Final = {"cut off", "refused", NO_ANSWER}
"""The ends of a connection that the service rejects."""


async def nested_json(target: Target, seconds: float) -> Report:
    """Post a megabyte of nested arrays to the event endpoint, and a long metadata in a query."""
    deep = post("/api/event", "application/json", b'{"a":' + b"[" * (_MEGABYTE - 6))
    query = urlencode({"pbk": target.attacker.pbk, "metadata": '{"a":' + "[" * 40_000})
    form = post("/nothing", "application/x-www-form-urlencoded", b"a=b&" * 15_000)
    requests = _again((deep, head("GET", f"/api/event?{query}", {}), form))
    report = await barrage(target.port, lambda: next(requests), 9, seconds, connections=3)
    return unexpected(report, {"400", "404", "413", "414", *_CLOSED})


async def unfinished_bodies(target: Target, seconds: float) -> Report:
    """Announce bodies of 8 MiB to a path that does not exist, and never send their last byte."""
    report = Report()
    size = 8 * _MEGABYTE
    begin = head("POST", "/nothing", {"Content-Length": str(size)})

    async def one() -> str:
        reader, writer = await connect(target.port, ADDRESS)
        try:
            async with asyncio.timeout(seconds):
                writer.write(begin)
                for _ in range(size // 65_536 - 1):
                    writer.write(b"x" * 65_536)
                    await writer.drain()
                answer = await reader.read(65_536)
        except (OSError, TimeoutError):
            return NO_ANSWER
        finally:
            writer.transport.abort()
        return answer[9:12].decode("latin-1") or "cut off"

    began = time.monotonic()
    report.answers = dict(
        Counter(await asyncio.gather(*(one() for _ in range(_UNFINISHED_BODIES))))
    )
    await asyncio.sleep(max(0.0, seconds - (time.monotonic() - began)))
    return unexpected(report, {"404", "405", "408", "413", "503", *_CLOSED})


async def random_names(target: Target, seconds: float) -> Report:
    """Ask for slugs, hosts and postback keys that do not exist, a thousand a second."""

    def make() -> bytes:
        name = secrets.token_hex(5)
        agent = {"User-Agent": random.choice(AGENTS)}  # noqa: S311
        return random.choice(  # noqa: S311
            (
                head("GET", f"/c/{name}", agent),
                head("GET", "/c/offer", agent | {"Host": f"{name}.test"}),
                head("GET", f"/api/click?s=offer&d={name}.test", agent),
                head("GET", f"/api/event?pbk={name}", agent),
            )
        )

    report = await barrage(target.port, make, 1_000, seconds, connections=64)
    return unexpected(report, {"404", "429"})


async def events_of_nobody(target: Target, seconds: float) -> Report:
    """Report conversions of clicks that never were, with all the metadata that is allowed."""
    metadata = {"text": "x" * 16_000}

    def make() -> bytes:
        body = orjson.dumps({"click_id": str(uuid4()), "metadata": metadata})
        return post("/api/event", "application/json", body)

    report = await barrage(target.port, make, 200, seconds)
    return unexpected(report, {"200", "429"})


async def forged_conversions(target: Target, seconds: float) -> Report:
    """Open a link as a visitor does, and report conversions of that click from its address bar."""
    opened = head("GET", f"/c/{target.guarded.slug}", {"User-Agent": AGENTS[2]})
    click_id = click_id_of(await ask(target.port, opened))
    if click_id is None:
        return Report(findings=["the link of the guarded account did not redirect"])
    forged = _again(tuple(_forged(click_id, target.guarded.pbk)))
    report = await barrage(target.port, lambda: next(forged), 50, seconds)
    # 200 until the click is stored: only then are its account and the rules known.
    report = unexpected(report, {"200", "400", "429"})
    counted = await conversions(target.port, target.guarded)
    if counted != 0:
        report.findings.append(f"forged conversions that count: {counted}")
    return report


def _forged(click_id: UUID, pbk: str) -> Iterator[bytes]:
    for fields in (
        {"click_id": click_id, "value": 10**15},
        {"click_id": click_id, "value": 5},
        {"click_id": click_id, "pbk": pbk, "value": -1_000},
        {"click_id": click_id, "pbk": pbk, "value": 10**15},
    ):
        yield head("GET", f"/api/event?{urlencode(fields)}", {"User-Agent": AGENTS[2]})


async def idle_connections(target: Target, seconds: float) -> Report:
    """Take every connection there is from one address, and send nothing."""
    return await _hold(target.port, seconds)


async def idle_handshakes(target: Target, seconds: float) -> Report:
    """Take every connection there is on a TLS port, and begin no handshake."""
    return await _hold(target.own_port, seconds)


async def _hold(port: int, seconds: float) -> Report:
    opened, refused = [], 0
    for _ in range(_IDLE_CONNECTIONS):
        try:
            opened.append(await connect(port, _HOARDER))
        except OSError:
            refused += 1
    await asyncio.sleep(max(0.5, seconds - 2))
    held = 0
    for reader, writer in opened:
        held += not (reader.at_eof() or writer.transport.is_closing())
        writer.transport.abort()
    report = Report(answers={"held": held, "closed": len(opened) - held, "refused": refused})
    if held > _IDLE_CONNECTIONS // 2:
        report.findings.append(f"one address holds {held:,} connections")
    return report


async def one_network(target: Target, seconds: float) -> Report:
    """Guess API keys from as many addresses of one IPv6 network as there are requests."""

    def make() -> bytes:
        client = f"2001:db8:1:2:{secrets.randbits(16):x}::{secrets.randbits(16):x}"
        fields = {"X-Forwarded-For": client, "Authorization": f"Bearer {secrets.token_urlsafe(32)}"}
        return head("GET", f"/api/keys?accountId={target.neighbour.account_id}", fields)

    report = unexpected(await barrage(target.port, make, 100, seconds), {"401", "429"})
    if report.answers.get("401", 0) > 250:  # 100 a minute, and two minutes may be touched
        report.findings.append("addresses of one /64 are counted apart")
    return report


async def nothing(target: Target, seconds: float) -> Report:
    """Wait: the attack is in the surroundings of the service."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    return Report()


def _again(requests: tuple[bytes, ...]) -> Iterator[bytes]:
    while True:
        yield from requests
