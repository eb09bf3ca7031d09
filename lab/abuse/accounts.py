"""Attacks by an account with a key of its own, on the service and on other accounts."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from lab.abuse.attack import Report, Target, barrage, report_of_today, unexpected
from lab.receiver import GONE, Message, answering, receiving
from lab.requests import AGENTS, ask, call, head, post

NEIGHBOUR: Final = "127.0.0.77"
"""The address of the account that must not notice anything."""

_NAMES: Final = 20
_CLAIMS: Final = 40
_REPORTS: Final = 50
_CONVERSIONS: Final = 100
_BUFFER_BYTES: Final = 65_536


async def silent_names(target: Target, seconds: float) -> Report:
    """Create webhooks for host names whose name servers never answer, twenty at once."""

    async def one(number: int) -> str:
        url = f"https://silent{number}.example/hook"
        body = {"account_id": target.attacker.account_id, "target_url": url}
        return (await call(target.own_port, target.attacker.key, "POST", "/api/webhooks", body))[0]

    report = Report(answers=await _counted(one, _NAMES))
    return unexpected(report, {"400", "429", "503"})


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

    report = Report(answers=await _counted(claim, _CLAIMS, at_once=20))
    report = unexpected(report, {"400", "claimed", "429", "503"})
    fields = {"Host": target.domain, "User-Agent": AGENTS[2]}
    opened = head("GET", f"/c/{target.neighbour.slug}", fields)
    if not (await ask(target.port, opened)).startswith(b"HTTP/1.1 302"):
        report.findings.append("the proven owner's link is no longer served")
    return report


async def webhook_loop(target: Target, seconds: float) -> Report:
    """Point a webhook at the service itself, and send it what such a webhook would."""
    url = f"http://127.0.0.1:{target.port}/api/event?pbk={target.attacker.pbk}"
    body = {"account_id": target.attacker.account_id, "target_url": url}
    status, _ = await call(target.port, target.attacker.key, "POST", "/api/webhooks", body)
    event = post(
        f"/api/event?pbk={target.attacker.pbk}", "application/json", b"{}", {"webhook-id": "msg_1"}
    )
    looped = await barrage(target.port, lambda: event, 100, seconds)
    answers = Counter(looped.answers) + Counter({f"creation {status}": 1})
    return unexpected(Report(answers=dict(answers)), {"400", "creation 400"})


async def crossed_reports(target: Target, seconds: float) -> Report:
    """Ask for fifty reports at once that read the clicks themselves, while a neighbour asks for a
    small one twice a second."""
    crossed = {"device": "mobile", "os": "Android"}

    async def heavy(number: int) -> str:
        filters = {**crossed, "browser": f"Chrome {number}"}
        return (await report_of_today(target.port, target.attacker, filters))[0]

    attack = asyncio.create_task(_counted(heavy, _REPORTS))
    answers = Counter[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status, _ = await report_of_today(target.port, target.neighbour, {}, NEIGHBOUR)
        answers[f"neighbour {status}"] += 1
        await asyncio.sleep(0.5)
    report = Report(answers=dict(answers + Counter(await attack)))
    return unexpected(report, {"200", "429", "503", "neighbour 200"})


async def trickling_receiver(target: Target, seconds: float) -> Report:
    """Have conversions delivered to a receiver that answers in chunks of one byte, for ever."""
    async with receiving(_trickle) as url:
        return await _delivered(target, url, seconds)


async def failing_receiver(target: Target, seconds: float) -> Report:
    """Have conversions delivered to a receiver that is gone: its owner must be notified."""
    async with receiving(answering(GONE)) as url:
        report = await _delivered(target, url, seconds)
    path = f"/api/webhooks?accountId={target.attacker.account_id}"
    _, listed = await call(target.port, target.attacker.key, "GET", path)
    [row] = [row for row in listed["rows"] if row["target_url"] == url]
    if row["active"] or not row.get("disabled_at") or not row.get("disabled_reason"):
        report.findings.append("the owner is not notified that the webhook is disabled")
    return report


async def _trickle(message: Message, transport: asyncio.WriteTransport) -> None:
    transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not transport.is_closing():
        transport.write(b"1\r\nx\r\n")
        is_full = transport.get_write_buffer_size() > _BUFFER_BYTES
        await asyncio.sleep(0.01 if is_full else 0)


async def _delivered(target: Target, url: str, seconds: float) -> Report:
    """Create a webhook for `url` and report conversions for it."""
    owner = target.attacker
    body = {"account_id": owner.account_id, "target_url": url}
    status, row = await call(target.port, owner.key, "POST", "/api/webhooks", body)
    if status != "200":
        return Report(findings=[f"the webhook was not created: {status} {row}"])
    event = head("GET", f"/api/event?pbk={owner.pbk}", {"User-Agent": "Postback/1.0"})
    report = await barrage(target.port, lambda: event, _CONVERSIONS / seconds, seconds)
    return unexpected(report, {"200"})


async def _counted(
    one: Callable[[int], Awaitable[str]], count: int, at_once: int = 100
) -> dict[str, int]:
    """Return how often each outcome came of `count` calls of `one`."""
    turns = asyncio.Semaphore(at_once)

    async def in_turn(number: int) -> str:
        async with turns:
            return await one(number)

    return dict(Counter(await asyncio.gather(*map(in_turn, range(count)))))
