"""The attacks: strangers flood, forge, or never finish; accounts have a key."""

import asyncio
import random
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import cycle
from typing import Any, Final, get_args
from urllib.parse import urlencode
from uuid import UUID, uuid4

import orjson

from lab.abuse.attack import (
    ATTACKER_ADDRESS,
    VALUES_DAY,
    Report,
    Target,
    barrage,
    conversions,
    counted,
    from_new_address,
    one_day,
    report,
)
from lab.process_usage import MEGABYTE
from lab.requests import AGENTS, NO_ANSWER, ask, call, click_id_of, connect, head, post
from tracker.reports.query import GroupBy

_UNFINISHED_BODIES: Final = 60
_IDLE_CONNECTIONS: Final = 2_000
_HOARDER_ADDRESS: Final = "127.0.0.67"
"""An address whose connections are counted; those of the attacker's proxy are not."""

_CLOSED: Final = {"cut off", "refused", NO_ANSWER}
"""The ends of a connection that the service rejects."""

_NEIGHBOUR_ADDRESS: Final = "127.0.0.77"
"""The address of the account that must not notice the attack."""

_SILENT_NAMES: Final = 20
_CLAIMS: Final = 40
_REPORTS: Final = 50
_REPORTS_OF_VALUES: Final = 20
_PANELS: Final = [{"groupBy": one} for one in get_args(GroupBy)]


async def nested_json(target: Target, seconds: float) -> Report:
    """Post a megabyte of nested arrays to the event endpoint, and a long metadata in a query."""
    deep = post("/api/event", "application/json", b'{"a":' + b"[" * (MEGABYTE - 6))
    query = urlencode({"pbk": target.attacker.pbk, "metadata": '{"a":' + "[" * 40_000})
    form = post("/nothing", "application/x-www-form-urlencoded", b"a=b&" * 15_000)
    requests = cycle((deep, head("GET", f"/api/event?{query}", {}), form))
    allowed = {"400", "404", "413", "414", *_CLOSED}
    return await barrage(target.port, requests.__next__, 9, seconds, allowed, connections=3)


async def unfinished_bodies(target: Target, seconds: float) -> Report:
    """Announce bodies of 8 MiB to a path that does not exist, and never send their last byte."""
    size = 8 * MEGABYTE
    begin = head("POST", "/nothing", {"Content-Length": str(size)})

    async def one() -> str:
        reader, writer = await connect(target.port, ATTACKER_ADDRESS)
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
    answers = Counter(await asyncio.gather(*(one() for _ in range(_UNFINISHED_BODIES))))
    await asyncio.sleep(max(0.0, seconds - (time.monotonic() - began)))
    return counted(answers, {"404", "405", "408", "413", "503", *_CLOSED})


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

    return await barrage(target.port, make, 1_000, seconds, {"404", "429"}, connections=64)


async def unknown_paths(target: Target, seconds: float) -> Report:
    """Ask a custom domain for a new path each time, as another client each time."""

    def make() -> bytes:
        fields = {"Host": target.domain, **from_new_address()}
        return head("GET", f"/{secrets.token_hex(8)}", fields)

    return await barrage(target.port, make, 1_000, seconds, {"404", "429"}, connections=64)


async def events_of_nobody(target: Target, seconds: float) -> Report:
    """Report conversions of clicks that do not exist, with as much metadata as is allowed."""
    metadata = {"text": "x" * 16_000}

    def make() -> bytes:
        body = orjson.dumps({"click_id": str(uuid4()), "metadata": metadata})
        return post("/api/event", "application/json", body)

    return await barrage(target.port, make, 200, seconds, {"200", "429"})


async def forged_conversions(target: Target, seconds: float) -> Report:
    """Open a link as a visitor does, and report conversions of that click from its address bar."""
    opened = head("GET", f"/c/{target.guarded.slug}", {"User-Agent": AGENTS[2]})
    click_id = click_id_of(await ask(target.port, opened))
    if click_id is None:
        return Report(findings=["the link of the guarded account did not redirect"])
    forged = cycle(tuple(_forged_requests(click_id, target.guarded.pbk)))
    # 200 until the click is stored: only then are its account and the rules known.
    allowed = {"200", "400", "429"}
    found = await barrage(target.port, forged.__next__, 50, seconds, allowed)
    counting = await conversions(target.port, target.guarded)
    if counting != 0:
        found.findings.append(f"forged conversions that count: {counting}")
    return found


def _forged_requests(click_id: UUID, pbk: str) -> Iterator[bytes]:
    for fields in (
        {"click_id": click_id, "value": 10**15},
        {"click_id": click_id, "value": 5},
        {"click_id": click_id, "pbk": pbk, "value": -1_000},
        {"click_id": click_id, "pbk": pbk, "value": 10**15},
    ):
        yield head("GET", f"/api/event?{urlencode(fields)}", {"User-Agent": AGENTS[2]})


async def idle_connections(target: Target, seconds: float) -> Report:
    """Open as many connections as possible from one address, and send nothing."""
    return await _keep_idle(target.port, seconds)


async def idle_handshakes(target: Target, seconds: float) -> Report:
    """Open as many connections as possible on a TLS port, and begin no handshake."""
    return await _keep_idle(target.own_port, seconds)


async def _keep_idle(port: int, seconds: float) -> Report:
    opened, refused = [], 0
    for _ in range(_IDLE_CONNECTIONS):
        try:
            opened.append(await connect(port, _HOARDER_ADDRESS))
        except OSError:
            refused += 1
    await asyncio.sleep(max(0.5, seconds - 2))
    held = 0
    for reader, writer in opened:
        held += not (reader.at_eof() or writer.transport.is_closing())
        writer.transport.abort()
    found = Report(answers={"held": held, "closed": len(opened) - held, "refused": refused})
    if held > _IDLE_CONNECTIONS // 2:
        found.findings.append(f"one address holds {held:,} connections")
    return found


async def one_network(target: Target, seconds: float) -> Report:
    """Guess API keys from as many addresses of one IPv6 network as there are requests."""

    def make() -> bytes:
        client = f"2001:db8:1:2:{secrets.randbits(16):x}::{secrets.randbits(16):x}"
        fields = {"X-Forwarded-For": client, "Authorization": f"Bearer {secrets.token_urlsafe(32)}"}
        return head("GET", f"/api/keys?accountId={target.neighbour.account_id}", fields)

    found = await barrage(target.port, make, 100, seconds, {"401", "429"})
    if found.answers.get("401", 0) > 250:  # 100 a minute, and two minutes may be touched
        found.findings.append("addresses of one /64 are counted apart")
    return found


async def nothing(target: Target, seconds: float) -> Report:
    """Wait: the attack is on the surroundings of the service."""
    await asyncio.sleep(seconds)
    return Report()


async def silent_names(target: Target, seconds: float) -> Report:
    """Create webhooks for host names whose name servers never answer, twenty at once."""
    key, made = target.attacker.key, list[str]()

    async def one(number: int) -> str:
        url = f"https://silent{number}.example/hook"
        body = {"account_id": target.attacker.account_id, "target_url": url}
        status, row = await call(target.own_port, key, "POST", "/api/webhooks", body)
        if status == "200":
            made.append(row["id"])
        return status

    answers = await _count_outcomes(one, _SILENT_NAMES)
    for webhook_id in made:  # an account has a limit of them, and other attacks need some
        await call(target.own_port, key, "DELETE", f"/api/webhooks/{webhook_id}", None)
    return counted(answers, {"200", "429", "503"})


async def claimed_domains(target: Target, seconds: float) -> Report:
    """Claim the names of others, one of them proven, and the service's own; try to prove them."""
    key, account_id = target.attacker.key, target.attacker.account_id

    async def claim(number: int) -> str:
        name = (target.domain, "localhost", f"brand{number}.example")[min(number, 2)]
        body = {"accountId": account_id, "domain_name": name}
        status, row = await call(target.port, key, "POST", "/api/domains", body)
        if status != "200":
            return status
        path = f"/api/domains/{row['id']}/verify"
        _, row = await call(target.port, key, "POST", path, {"accountId": account_id})
        return "proven" if (row or {}).get("verified") else "claimed"

    answers = await _count_outcomes(claim, _CLAIMS, at_once=20)
    found = counted(answers, {"400", "claimed", "429", "503"})
    fields = {"Host": target.domain, "User-Agent": AGENTS[2]}
    opened = head("GET", f"/c/{target.neighbour.slug}", fields)
    if not (await ask(target.port, opened)).startswith(b"HTTP/1.1 302"):
        found.findings.append("the proven owner's link is no longer served")
    return found


async def crossed_reports(target: Target, seconds: float) -> Report:
    """Ask for fifty reports and fifty overviews at once that read the clicks themselves, while a
    neighbour asks for a small report twice a second."""
    crossed = {"device": "mobile", "os": "Android"}

    async def heavy(number: int) -> str:
        filters = {**crossed, "browser": f"Chrome {number % _REPORTS}"}
        if number < _REPORTS:
            asked: dict[str, Any] = {
                "compare": "previous_period",
                "panels": _PANELS,
                "filters": filters,
            }
            return (await report(target.port, target.attacker, asked, "/overview"))[0]
        asked = {"groupBy": "country", "filters": filters}
        return (await report(target.port, target.attacker, asked))[0]

    return await _beside_a_neighbour(target, seconds, _count_outcomes(heavy, 2 * _REPORTS))


async def many_values(target: Target, seconds: float) -> Report:
    """Ask twenty times at once for a day of very many campaigns, while a neighbour asks for a small
    report twice a second."""

    async def heavy(number: int) -> str:
        asked = {"groupBy": "utm_campaign", "dateRange": one_day(VALUES_DAY)}
        return (await report(target.port, target.attacker, asked))[0]

    return await _beside_a_neighbour(target, seconds, _count_outcomes(heavy, _REPORTS_OF_VALUES))


async def _beside_a_neighbour(
    target: Target, seconds: float, heavy: Coroutine[Any, Any, Counter[str]]
) -> Report:
    attack = asyncio.create_task(heavy)
    answers = Counter[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status, _ = await report(
            target.port, target.neighbour, {"groupBy": "country"}, source=_NEIGHBOUR_ADDRESS
        )
        answers[f"neighbour {status}"] += 1
        await asyncio.sleep(0.5)
    # A client that has waited for long enough is gone: its report is not awaited.
    return counted(answers + await attack, {"200", "429", "503", NO_ANSWER, "neighbour 200"})


async def _count_outcomes(
    act: Callable[[int], Awaitable[str]], count: int, at_once: int = 100
) -> Counter[str]:
    turns = asyncio.Semaphore(at_once)

    async def in_turn(number: int) -> str:
        async with turns:
            return await act(number)

    return Counter(await asyncio.gather(*map(in_turn, range(count))))
