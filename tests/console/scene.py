"""An account that has something on every page of the console."""

from typing import NamedTuple
from uuid import UUID

import msgspec
import orjson

from tests.conversions.scene import applied
from tests.factories import (
    create_cost,
    create_event_config,
    create_link,
    create_webhook,
    make_click,
    make_conversion,
    make_split,
)
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.clock import now, now_ms
from tracker.ids import new_id
from tracker.imports.rows import ImportRow
from tracker.imports.store import Import
from tracker.links.rules.rule import Condition, QueryMatch, Rule, Split, TimeMatch
from tracker.service.services import Services
from tracker.uploads.forms import Row
from tracker.uploads.store import Upload

HOSTILE = "<img src=x onerror=\"console.error('run')\">\"'>{{constructor}}"
"""A name that would run if any page took it for HTML."""

EVENT_ID = 7


class Scene(NamedTuple):
    """The ids of what the account has, by the names of parameters in paths."""

    link: UUID
    webhook: UUID
    event: int
    click: UUID
    imported: UUID
    domain: UUID
    upload: UUID


async def create_scene(services: Services, account_id: UUID) -> Scene:
    """Store one of everything, each with a hostile name."""
    tag = await services.links.tags.create(account_id, HOSTILE)
    link = await create_link(
        services,
        account_id,
        "spring",
        f"https://shop.example/offer?a={HOSTILE}&utm_source={HOSTILE}",
        internal_name=HOSTILE,
        tags=[tag.id],
        rules=[_rule()],
        split=_split(),
    )
    domain = await services.links.domains.create(account_id, "go.example.com")
    services.links.unknown_paths.record(domain.id.hex, HOSTILE, HOSTILE, "192.0.2.1")
    await services.links.unknown_paths.store()
    config = await create_event_config(services, account_id, name=HOSTILE)
    webhook = await create_webhook(services, account_id)
    click = make_click(
        account_id,
        link_id=link.id.bytes,
        at=now_ms(),
        referrer=f"javascript:alert(1)//{HOSTILE}",
        query=f"a={HOSTILE}",
        user_agent=HOSTILE,
    )
    event = make_conversion(
        EVENT_ID,
        click.id,
        at=now_ms(),
        account_id=account_id.bytes,
        event_config_id=config.id.bytes,
        value="12.50",
        payout="2.50",
        transaction_id=HOSTILE,
        transaction_scope=config.id.bytes,
        metadata=orjson.dumps({HOSTILE: [HOSTILE, {"a": 12345678901234567890}]}).decode(),
    )
    await applied(services, [click, event])
    attempt = {"at": now(), "milliseconds": 12, "code": 500, "answer": HOSTILE, "error": HOSTILE}
    change = {"$set": {"status": "failed", "attempts": [attempt], "payload": HOSTILE}}
    await services.stores.mongodb["deliveries"].update_many({}, change)
    await services.accounts.membership.invite(
        Author.operator(account_id), "invited@example.com", Role.VIEWER
    )
    await services.access.api_keys.create(account_id, HOSTILE)
    await create_cost(services, account_id, value=HOSTILE)
    imported = Import(
        id=new_id(),
        account_id=account_id,
        created_at=now(),
        source="csv",
        instance=HOSTILE,
        state="failed",
        error=HOSTILE,
        total=1,
        counts={"refused": 1},
        domain_names=[HOSTILE],
    )
    await services.imports.imports.create(imported)
    refused = ImportRow(number=0, row=1, outcome="refused", field="path", reason=HOSTILE)
    row = msgspec.structs.replace(refused, text=HOSTILE, destination_url=HOSTILE)
    await services.imports.rows.put(imported.id, [row])
    upload_id = await _upload(services, account_id)
    return Scene(
        link.id, webhook.id, EVENT_ID, UUID(bytes=click.id), imported.id, domain.id, upload_id
    )


def _split() -> Split:
    split = make_split()
    variants = [msgspec.structs.replace(one, name=HOSTILE) for one in split.variants]
    return msgspec.structs.replace(split, variants=variants)


def _rule() -> Rule:
    """Return a rule that leads to a split."""
    values = QueryMatch(key="q", values=[HOSTILE])
    conditions = [Condition(query=values), Condition(time=TimeMatch(zone="UTC", weekdays=[1]))]
    return Rule(id=new_id(), name=HOSTILE, conditions=conditions, split=_split())


async def _upload(services: Services, account_id: UUID) -> UUID:
    """Store an upload whose only row was refused."""
    writer = services.uploads.files.writer()
    writer.write(f"{HOSTILE}\n{HOSTILE}\n".encode())
    await writer.close()
    made = Upload(
        id=new_id(),
        account_id=account_id,
        created_at=now(),
        form="csv",
        state="failed",
        error=HOSTILE,
        file_id=writer.id,
        counts={"refused": 1},
    )
    await services.uploads.uploads.create(made)
    await services.uploads.uploads.refuse(made.id, [(Row(2, {}, HOSTILE), HOSTILE)])
    return made.id
