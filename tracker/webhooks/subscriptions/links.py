"""Deliveries of new and changed links, one for each, to webhooks that ask for them.

Guarantee: a webhook is told of each revision of a link once, in order, or counts it as skipped.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tracker.clock import iso, now
from tracker.links.link import Link
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.creation import active_webhooks
from tracker.webhooks.delivery import Kind, delivery_id, new_row
from tracker.webhooks.operational_messages import envelope
from tracker.webhooks.queue import DeliveryQueue
from tracker.webhooks.subscriptions.bound import count_waiting, insert_bounded

_SHOWN: Final = (
    *("id", "account_id", "slug", "domain_id", "internal_name", "destination_url", "tags"),
    *("active", "archived", "external_id"),
)
_UNTOLD: Final = {"version", "renewed_version", "names", "last_click_at"}


class LinkAnnouncer:
    """Tells webhooks of the changes that the store of links makes."""

    def __init__(self, mongodb: MongoDB, base_host: str) -> None:
        self._database = mongodb.database
        self._base_host = base_host
        self._queue = DeliveryQueue(mongodb)

    async def tell(
        self, changes: Sequence[tuple[Link | None, Link]], session: MongoSession
    ) -> Callable[[], Awaitable[None]]:
        """Insert deliveries; return what to call once the transaction is committed.

        A change is a link before, unless it is new, and after.
        """
        accounts = {after.account_id.bytes for _, after in changes}
        webhooks = await active_webhooks(self._database, accounts, session)
        rows = defaultdict[UUID, list[dict[str, Any]]](list)
        for before, after in changes if webhooks else ():
            fields = self._told(before, after)
            tags = [tag.bytes for tag in after.tags]
            for webhook in webhooks[after.account_id.bytes] if fields else ():
                if fields["kind"] in webhook.kinds and webhook.filter.has_link(
                    after.id.bytes, tags
                ):
                    key = delivery_id(webhook.id, f"link {after.id} {after.version}")
                    rows[webhook.id].append(
                        new_row(key, webhook.id, webhook.account_id, now(), **fields)
                    )
        waiting = await count_waiting(self._database, rows, session) if rows else {}
        due = await insert_bounded(self._database, rows, waiting, "links", session)
        return partial(self._queue.add, due)

    def _told(self, before: Link | None, after: Link) -> dict[str, Any]:
        """Return the fields of a delivery; none if no person has changed the link."""
        if before is not None and before.revision == after.revision:
            return {}
        kind = Kind.LINK_CHANGED if before else Kind.LINK_CREATED
        names = set(Link.__struct_fields__) - _UNTOLD if before else ()
        changed = sorted(one for one in names if getattr(before, one) != getattr(after, one))
        payload = link_message(kind, after, changed, self._base_host)
        of_link = {"link_id": after.id, "revision": after.version}
        return {"kind": kind, "payload": payload, "skipped": 0, **of_link}


def link_message(kind: Kind, link: Link, changed: Sequence[str], base_host: str) -> str:
    """Return the message of a link; `changed` are the names of its changed fields."""
    fields = {name: getattr(link, name) for name in _SHOWN}
    fields |= {"domain_name": link.domain_name or base_host, "revision": link.version}
    fields |= {"created_at": iso(link.created_at), "changed": changed}
    verb = f"changed ({', '.join(changed)})" if changed else kind.rpartition(".")[2]
    text = f"The link {link.internal_name} ({link.slug}) was {verb}."
    return envelope(kind, now(), {**fields, "text": text})
