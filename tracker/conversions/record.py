"""Recording a conversion: checked, durable in the journal, then answered.

The order of checks is that of the contract with senders: nothing is recorded unless all hold.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

import structlog

from tracker.clicks.journal import Claim, Journal
from tracker.clock import now_ms
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, EventConfigs, PayoutType
from tracker.conversions.event_ids import EventIds
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.parameters import Conversion
from tracker.conversions.store import Events
from tracker.db import keys
from tracker.db.batch import Waiter
from tracker.db.connect import PyMongoError
from tracker.errors import BadRequest, NotFound, Unavailable

log = structlog.get_logger(__name__)


class Recorded(NamedTuple):
    event_id: int
    click_found: bool


class _Appended:
    """Tells `waiter`, when the journal has the event."""

    __slots__ = ("_recorded", "_waiter")

    def __init__(self, recorded: Recorded, waiter: Waiter[Recorded]) -> None:
        self._recorded = recorded
        self._waiter = waiter

    def done(self) -> bool:
        return self._waiter.done()

    def set_result(self, _: int | None) -> None:
        self._waiter.set_result(self._recorded)

    def set_exception(self, error: Exception) -> None:
        self._waiter.set_exception(error)


class _LookedUp:
    """Goes on with a conversion when it is known whose click it names."""

    __slots__ = ("_append", "_waiter")

    def __init__(self, append: Callable[[UUID | None], None], waiter: Waiter[Recorded]) -> None:
        self._append = append
        self._waiter = waiter

    def done(self) -> bool:
        """Never: the conversion counts, be its sender gone or not."""
        return False

    def set_result(self, owner_id: UUID | None) -> None:
        try:
            self._append(owner_id)
        except Exception as error:
            self._waiter.set_exception(error)

    def set_exception(self, error: Exception) -> None:
        self._waiter.set_exception(error)


class Recorder:
    def __init__(
        self,
        configs: EventConfigs,
        look_ups: LookUps,
        events: Events,
        event_ids: EventIds,
        journal: Journal,
    ) -> None:
        self._configs = configs
        self._look_ups = look_ups
        self._events = events
        self._event_ids = event_ids
        self._journal = journal
        self._mongodb = look_ups.mongodb

    async def record(self, conversion: Conversion) -> Recorded:
        """Raises BadRequest or NotFound, and has recorded nothing then.

        Raises Unavailable if it cannot be made durable, or if no store can tell whether its
        transaction id came before: it may be recorded later then, and sending it again is safe.
        """
        config = await self._config(conversion)
        owner_id = await self._owner(conversion.click_id)
        account_id = _account(config, owner_id)
        scopes = _scopes(conversion, config, account_id)
        first = await self._earlier(scopes, conversion.transaction_id)
        if first is None:
            event = _event(await self._event_ids.next(), conversion, config, account_id, scopes)
            first = await self._append(event, scopes)
        return Recorded(first, owner_id is not None)

    def record_for(self, waiter: Waiter[Recorded], conversion: Conversion) -> bool:
        """As `record`, for a conversion without transaction id whose event config memory knows;
        False: ask `record`. It is `waiter` that is told, if nothing is raised, in a later turn."""
        if conversion.transaction_id is not None:
            return False
        config = None
        if conversion.pbk is not None:
            known = self._configs.known_by_postback_key(conversion.pbk)
            if known is None:
                return False
            config = _checked(known.value, conversion)
        event_id = self._event_ids.next_at_once()
        if event_id is None:
            return False
        append = partial(self._append_for, waiter, event_id, conversion, config)
        if conversion.click_id is None:
            append(None)
        else:
            self._look_ups.owners.add(conversion.click_id.bytes, _LookedUp(append, waiter))
        return True

    def _append_for(
        self,
        waiter: Waiter[Recorded],
        event_id: int,
        conversion: Conversion,
        config: EventConfig | None,
        owner_id: UUID | None,
    ) -> None:
        event = _event(event_id, conversion, config, _account(config, owner_id), ())
        recorded = Recorded(event_id, owner_id is not None)
        self._journal.append_for(_Appended(recorded, waiter), event)

    async def close(self) -> None:
        await self._look_ups.flushed()

    async def _config(self, conversion: Conversion) -> EventConfig | None:
        if conversion.pbk is None:
            return None
        return _checked(await self._configs.by_postback_key(conversion.pbk), conversion)

    async def _owner(self, click_id: UUID | None) -> UUID | None:
        """Whose click it is; None also if MongoDB does not answer in time: the event is pending
        then."""
        return None if click_id is None else await self._look_ups.owners.submit(click_id.bytes)

    async def _earlier(self, scopes: Sequence[UUID], transaction_id: str | None) -> int | None:
        """The id of the stored event that had this transaction id first."""
        if transaction_id is None:
            return None
        return await self._look_ups.earlier.submit((scopes, transaction_id))

    async def _append(self, event: Event, scopes: Sequence[UUID]) -> int:
        if event.transaction_id is None:
            await self._journal.append(event)
            return event.id
        names = tuple(keys.transaction(scope, event.transaction_id) for scope in scopes)
        claim = Claim(names, event.id)
        holder = await self._journal.append_once(event, claim)
        return holder or await self._claim_in_mongodb(event, scopes)

    async def _claim_in_mongodb(self, event: Event, scopes: Sequence[UUID]) -> int:
        """With Redis away the unique index decides who was first; the spool has the event."""
        if self._mongodb.is_open:
            raise Unavailable("storage is away; try again")
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                return await self._events.claim(event, scopes)
        except (PyMongoError, TimeoutError) as error:
            self._mongodb.failed()
            raise Unavailable("storage is away; try again") from error


def _checked(config: EventConfig | None, conversion: Conversion) -> EventConfig:
    """The one that its postback key names, if it is there."""
    if config is None:
        raise NotFound("pbk: no active event configuration has this postback key")
    if config.payout_type is PayoutType.REV_SHARE and conversion.value is None:
        raise BadRequest("value: required, because the payout type is RevShare")
    return config


def _account(config: EventConfig | None, owner_id: UUID | None) -> UUID | None:
    """`owner_id` is the account that the click belongs to, if it is known."""
    if config is None:
        return owner_id
    if owner_id is not None and owner_id != config.account_id:
        raise BadRequest("click_id: belongs to another account than pbk")
    return config.account_id


def _scopes(
    conversion: Conversion, config: EventConfig | None, account_id: UUID | None
) -> tuple[UUID, ...]:
    """What the transaction id is unique in, the scope to be stored first.

    Without an event config that is the account; the click stands in until it tells the account,
    and is asked afterwards too, for an event may have been accepted under it.
    """
    if config is not None:
        return (config.id,)
    return tuple(scope for scope in (account_id, conversion.click_id) if scope is not None)


def _event(
    event_id: int,
    conversion: Conversion,
    config: EventConfig | None,
    account_id: UUID | None,
    scopes: Sequence[UUID],
) -> Event:
    return Event(
        id=event_id,
        at=now_ms(),
        account_id=_bytes(account_id),
        event_config_id=_bytes(None if config is None else config.id),
        click_id=_bytes(conversion.click_id),
        value=None if conversion.value is None else str(conversion.value),
        payout=None if config is None else str(config.payout_of(conversion.value)),
        metadata=conversion.metadata,
        transaction_id=conversion.transaction_id,
        transaction_scope=_bytes(scopes[0]) if conversion.transaction_id is not None else None,
    )


def _bytes(value: UUID | None) -> bytes | None:
    return None if value is None else value.bytes
