"""Webhooks in MongoDB. Callers have checked the fields with `target` and `template`."""

import base64
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace
from pymongo import ReturnDocument

from tracker.clock import now
from tracker.errors import BadRequest, LimitReached
from tracker.ids import new_id
from tracker.stores.mongodb.account_lock import has_room, run_in_turn
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.reseal import SealedFields
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.secret_box import SecretBox
from tracker.syntax.url import check_url
from tracker.webhooks.delivery import Kind, Preset
from tracker.webhooks.filters import NO_FILTER, Filter
from tracker.webhooks.headers import FIELD as HEADERS
from tracker.webhooks.headers import headers_text, parsed_headers, with_stored_values
from tracker.webhooks.limits import MAX_WEBHOOKS_PER_ACCOUNT
from tracker.webhooks.macros import ENCODER
from tracker.webhooks.operational_messages import create_messages, webhook_disabled
from tracker.webhooks.queue import DeliveryQueue, DueWebhook
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.target import FIELD as TARGET_URL

ROTATION: Final = timedelta(days=1)
"""The previous secret signs too for this time, so that a receiver can adopt the new one."""


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook as it is stored.

    - Secrets and headers are sealed; `Webhooks.with_readable_secrets` decrypts them.
    - `preset`: the service whose form payloads have; `settings`: of an ad platform.
    - `headers`, `payload_template`, `filter` and `settings` are JSON text.
    - `failing_since` is the time of the first failure since the last success.
    - `disabled_reason` and `disabled_at` are set if the service itself disabled it.
    """

    id: UUID
    account_id: UUID
    name: str
    target_url: str
    method: str
    payload_template: str
    preset: Preset | None = None
    settings: str = "{}"
    header_names: tuple[str, ...] = ()
    headers: str | None = None
    events: tuple[Kind, ...] = (Kind.CONVERSION,)
    filter: str = NO_FILTER
    active: bool
    secret: str
    previous_secret: str | None = None
    previous_secret_until: datetime | None = None
    failing_since: datetime | None = None
    disabled_reason: Disabled | None = None
    disabled_at: datetime | None = None
    created_at: datetime

    def secrets(self, at: datetime) -> list[str]:
        """Return the secrets that sign at that moment, the current one first."""
        until = self.previous_secret_until
        if self.previous_secret is None or until is None or at >= until:
            return [self.secret]
        return [self.secret, self.previous_secret]


async def _nothing_else(_: MongoSession, __: Webhook) -> None:
    """Do nothing more in the transaction."""


class Webhooks:
    """The webhooks of all accounts. `box` seals their secrets, messages go through `queue`."""

    def __init__(self, mongodb: MongoDB, box: SecretBox, queue: DeliveryQueue) -> None:
        self._database = mongodb.database
        self._box = box
        self._queue = queue
        self._webhooks = mongodb["webhooks"]
        self._pages = Pages(mongodb.reads, "webhooks", Webhook)

    @property
    def sealed_fields(self) -> SealedFields:
        return SealedFields("webhooks", ("secret", "previous_secret", "headers"), self._box)

    async def create(
        self,
        account_id: UUID,
        name: str,
        target_url: str,
        method: str,
        payload_template: Mapping[str, Any],
        events: Sequence[Kind] = (Kind.CONVERSION,),
        headers: Mapping[str, str] = MappingProxyType({}),
        conversions: Filter | None = None,
        preset: Preset | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
        in_transaction: Callable[[MongoSession, Webhook], Awaitable[object]] = _nothing_else,
    ) -> Webhook:
        """Return a new webhook, its secret decrypted. `in_transaction` gets it too."""
        webhook_id, secret = new_id(), _new_secret()
        webhook = Webhook(
            id=webhook_id,
            account_id=account_id,
            name=name,
            target_url=target_url,
            method=method,
            payload_template=template_text(payload_template),
            preset=preset,
            settings=template_text(dict(settings)),
            events=tuple(events),
            filter=filter_text(conversions),
            **self._sealed_headers(webhook_id, with_stored_values({}, headers)),
            active=True,
            secret=self._box.seal(webhook_id, secret),
            created_at=now(),
        )
        readable = replace(webhook, secret=secret)

        async def insert(session: MongoSession) -> None:
            await self._insert(webhook, session)
            await in_transaction(session, readable)

        await run_in_turn(self._database, account_id, insert)
        return readable

    async def _insert(self, webhook: Webhook, session: MongoSession) -> None:
        limit, account_id = MAX_WEBHOOKS_PER_ACCOUNT, webhook.account_id
        if not await has_room(self._database, "webhooks", account_id, limit, session):
            raise LimitReached(f"account_id: has {limit} webhooks, which is the limit")
        await self._webhooks.insert_one(as_document(webhook), session=session)

    async def find(self, webhook_id: UUID) -> Webhook | None:
        return await self._pages.by_id(webhook_id)

    async def find_all(self, ids: Collection[UUID]) -> dict[UUID, Webhook]:
        return await self._pages.by_ids(ids)

    async def record_failure(self, webhook_id: UUID, since: datetime) -> bool:
        """Record that an attempt failed; return whether it is the first of all processes."""
        first = {"_id": webhook_id, "failing_since": None}
        done = await self._webhooks.update_one(first, {"$set": {"failing_since": since}})
        return bool(done.modified_count)

    async def record_success(self, webhook_id: UUID) -> bool:
        """Record that an attempt succeeded; return whether it is the first after a failure."""
        failed = {"_id": webhook_id, "failing_since": {"$ne": None}}
        done = await self._webhooks.update_one(failed, {"$set": {"failing_since": None}})
        return bool(done.modified_count)

    async def disable(self, webhook: Webhook, reason: Disabled, at: datetime) -> bool:
        """Disable a webhook and notify subscribers in one transaction. Return False if inactive."""
        message = webhook_disabled(webhook.id, webhook.account_id, webhook.name, reason, at)

        async def work(session: MongoSession) -> set[DueWebhook] | None:
            active = {"_id": webhook.id, "active": True}
            disabled = {"active": False, "disabled_reason": reason, "disabled_at": at}
            done = await self._webhooks.update_one(active, {"$set": disabled}, session=session)
            if not done.modified_count:
                return None
            return await create_messages(self._database, [message], session)

        due = await run_in_transaction(self._database, work)
        await self._queue.add(due or ())
        return due is not None

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Webhook], int]:
        return await self._pages.find({"account_id": account_id}, page, page_size)

    async def change(
        self, webhook_id: UUID, fields: Mapping[str, Any], session: MongoSession | None = None
    ) -> Webhook | None:
        """Set checked `fields`, with template and headers as sent. Return None if it is deleted.

        Raises BadRequest if a header has no stored value, UnreadableSecret if it is unreadable.
        """
        update = _update(fields)
        if {"headers", "target_url"} & fields.keys():
            update |= await self._changed_headers(webhook_id, fields, session)
        row = await self._webhooks.find_one_and_update(
            {"_id": webhook_id},
            {"$set": update},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return None if row is None else as_struct(Webhook, row)

    async def _changed_headers(
        self, webhook_id: UUID, fields: Mapping[str, Any], session: MongoSession | None
    ) -> dict[str, Any]:
        """Return the fields to set for the headers. Stored values are for the same receiver only.

        Else a member could change the target, and so read secrets that other members stored.
        """
        row = await self._webhooks.find_one(
            {"_id": webhook_id}, ["target_url", "header_names", "headers"], session=session
        )
        if row is None:
            return {}
        names = row.get("header_names", [])
        sent = fields.get("headers", dict.fromkeys(names))
        keeps = None in sent.values()
        if keeps and _receiver(fields.get("target_url", row["target_url"])) != _receiver(
            row["target_url"]
        ):
            raise BadRequest(
                f"{HEADERS}: send their values again, as target_url has changed before its query"
            )
        if "headers" not in fields:
            return {}
        sealed = row.get("headers")
        stored = parsed_headers(self._box.open(webhook_id, sealed) if sealed and keeps else None)
        return self._sealed_headers(webhook_id, with_stored_values(stored, sent))

    def _sealed_headers(self, webhook_id: UUID, headers: Mapping[str, str]) -> dict[str, Any]:
        sealed = self._box.seal(webhook_id, headers_text(headers)) if headers else None
        return {"header_names": tuple(headers), "headers": sealed}

    async def rotate_secret(self, webhook_id: UUID) -> Webhook | None:
        """Return the webhook with a new, readable secret. The old one signs too for ROTATION."""
        secret = _new_secret()
        rotated = {
            "secret": {"$literal": self._box.seal(webhook_id, secret)},
            "previous_secret": "$secret",
            "previous_secret_until": now() + ROTATION,
        }
        row = await self._webhooks.find_one_and_update(
            {"_id": webhook_id}, [{"$set": rotated}], return_document=ReturnDocument.AFTER
        )
        return None if row is None else replace(as_struct(Webhook, row), secret=secret)

    def with_readable_secrets(self, webhook: Webhook, at: datetime) -> Webhook:
        """Decrypt headers and the secrets that sign at `at`. Raises UnreadableSecret."""
        current, *previous = [self._box.open(webhook.id, one) for one in webhook.secrets(at)]
        headers = webhook.headers and self._box.open(webhook.id, webhook.headers)
        previous_secret = next(iter(previous), None)
        return replace(webhook, secret=current, previous_secret=previous_secret, headers=headers)

    async def delete(self, webhook_id: UUID) -> bool:
        """Delete a webhook; return whether it existed. The sender cancels its due deliveries."""
        await self._database["webhook_skips"].delete_many({"_id": {"$regex": f"^{webhook_id} "}})
        return bool((await self._webhooks.delete_one({"_id": webhook_id})).deleted_count)


def _new_secret() -> str:
    """Make a secret in the form of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _update(fields: Mapping[str, Any]) -> dict[str, Any]:
    template = fields.get("payload_template")
    text = {} if template is None else {"payload_template": template_text(template)}
    if "filter" in fields:
        text["filter"] = filter_text(fields["filter"])
    if "settings" in fields:
        text["settings"] = template_text(fields["settings"])
    # The owner may have fixed the cause: earlier failures no longer count.
    causes = {"active", "target_url", "headers"}
    health = {"failing_since": None} if causes & fields.keys() else {}
    reason = {"disabled_reason": None, "disabled_at": None} if "active" in fields else {}
    plain = {name: value for name, value in fields.items() if name != "headers"}
    return {**plain, **text, **health, **reason}


def _receiver(target_url: str) -> tuple[str, tuple[str, int], str]:
    """Return all before the query. One host may serve many customers, each at its path."""
    parts = check_url(TARGET_URL, target_url)
    return parts.scheme.lower(), parts.address, parts.path or "/"


def filter_text(conversions: Filter | None) -> str:
    """Return the fields that filter something: an older drain refuses one that it does not know."""
    empty, sent = Filter(), conversions or Filter()
    fields = {one: getattr(sent, one) for one in sent.__struct_fields__}
    return template_text({k: v for k, v in fields.items() if v != getattr(empty, k)})


def template_text(template: Mapping[str, Any]) -> str:
    return ENCODER.encode(template).decode()
