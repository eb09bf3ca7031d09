"""The attacks by receivers of webhooks that never end an answer, are gone, or are the service."""

import asyncio
from typing import Final

from lab.abuse.attack import Report, Target, barrage, counted, made
from lab.receiver import ACCEPTED, GONE, Message, answering, receiving
from lab.requests import AGENTS, call, head, post

_CONVERSIONS: Final = 100
_BUFFER_BYTES: Final = 65_536


async def trickling_receiver(target: Target, seconds: float) -> Report:
    """Have conversions delivered to a receiver that answers in endless chunks of one byte."""
    async with receiving(_trickle) as url:
        return await _deliver_conversions(target, url, seconds)


async def failing_receiver(target: Target, seconds: float) -> Report:
    """Have conversions delivered to a receiver that is gone: its owner must be notified."""
    async with receiving(answering(GONE)) as url:
        report = await _deliver_conversions(target, url, seconds)
    path = f"/api/webhooks?accountId={target.attacker.account_id}"
    _, listed = await call(target.port, target.attacker.key, "GET", path)
    [row] = [row for row in listed["rows"] if row["target_url"] == url]
    if row["active"] or not row.get("disabled_at") or not row.get("disabled_reason"):
        report.findings.append("the owner is not notified that the webhook is disabled")
    return report


async def webhook_loop(target: Target, seconds: float) -> Report:
    """Point a webhook at the service itself, and send it what such a webhook would."""
    url = f"http://127.0.0.1:{target.port}/api/event?pbk={target.attacker.pbk}"
    body = {"account_id": target.attacker.account_id, "target_url": url}
    status, _ = await call(target.port, target.attacker.key, "POST", "/api/webhooks", body)
    event = post(
        f"/api/event?pbk={target.attacker.pbk}", "application/json", b"{}", {"webhook-id": "msg_1"}
    )
    looped = await barrage(target.port, lambda: event, 100, seconds, {"400"})
    return counted({**looped.answers, f"creation {status}": 1}, {"400", "creation 400"})


async def click_webhooks(target: Target, seconds: float) -> Report:
    """Open a link of its own a thousand times a second, and have five webhooks told of it all."""
    owner, made_ids = target.attacker, []
    opened = head("GET", f"/c/{owner.slug}", {"User-Agent": AGENTS[2]})
    async with receiving(answering(ACCEPTED)) as quick, receiving(_trickle) as slow:
        for url in (quick, quick, quick, slow, slow):
            body = {"account_id": owner.account_id, "target_url": url, "events": ["click.recorded"]}
            made_ids.append((await made(target.port, owner.key, "/api/webhooks", body))["id"])
        report = await barrage(target.port, lambda: opened, 1_000, seconds, {"302"}, connections=64)
    for one in made_ids:  # an account has a limit of them, and other attacks need some
        await call(target.port, owner.key, "DELETE", f"/api/webhooks/{one}", None)
    return report


async def _trickle(message: Message, transport: asyncio.WriteTransport) -> None:
    transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not transport.is_closing():
        transport.write(b"1\r\nx\r\n")
        is_full = transport.get_write_buffer_size() > _BUFFER_BYTES
        await asyncio.sleep(0.01 if is_full else 0)


async def _deliver_conversions(target: Target, url: str, seconds: float) -> Report:
    owner = target.attacker
    body = {"account_id": owner.account_id, "target_url": url}
    await made(target.port, owner.key, "/api/webhooks", body)
    event = head("GET", f"/api/event?pbk={owner.pbk}", {"User-Agent": "Postback/1.0"})
    return await barrage(target.port, lambda: event, _CONVERSIONS / seconds, seconds, {"200"})
