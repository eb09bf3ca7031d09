"""Recording of conversions: checked, durable in the journal, then answered.

Called by the API for each conversion.

- The order of checks is that of the contract with senders.
- A transaction id that came before is answered with the event that had it first.

Guarantee: a refused conversion is not recorded, and an answered one is durable.
"""

import asyncio
from collections.abc import Sequence
from contextvars import Context
from functools import partial
from typing import Any, Final
from uuid import UUID

from tracker.conversions.append import AppendOnce
from tracker.conversions.caps import Caps
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, EventConfigs
from tracker.conversions.event_ids import EventIds
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.parameters import Conversion
from tracker.conversions.resolution import (
    account_of,
    checked_config,
    claims_of,
    event_of,
    scopes_of,
)
from tracker.conversions.rules import AccountRules, ConversionRules, Rule, rules_in
from tracker.conversions.waiters import AppendWaiter, OwnerWaiter, Recorded
from tracker.db.batch import Waiter
from tracker.db.breaker import answer_within
from tracker.errors import RateLimited, Unavailable
from tracker.journal.stream import Journal
from tracker.limits.allowance import Allowance
from tracker.metrics import PENDING_REFUSED

_METADATA_BYTES_PER_CONVERSION: Final = 1024
"""Bytes of metadata that count as one more conversion without an account, to limit sizes too."""

_RETRY_SECONDS: Final = 10
"""When a sender may try again: most clicks are stored within a second."""


class Recorder:
    """The recording of conversions.

    `record` waits for the result. `record_from_memory` passes it to a waiter.
    """

    def __init__(
        self,
        configs: EventConfigs,
        look_ups: LookUps,
        event_ids: EventIds,
        journal: Journal,
        once: AppendOnce,
        rules: AccountRules,
        caps: Caps,
        pending: Allowance,
    ) -> None:
        self._configs = configs
        self._look_ups = look_ups
        self._event_ids = event_ids
        self._journal = journal
        self._once = once
        self._rules = rules
        self._caps = caps
        self._pending = pending
        self._later: set[asyncio.Task[None]] = set()
        self._mongodb = look_ups.mongodb

    async def record(self, conversion: Conversion, client: str = "") -> Recorded:
        """Record a conversion that the sender at the address `client` reports.

        Raises BadRequest, NotFound or RateLimited if it is refused; nothing is recorded then.

        Raises Unavailable if it cannot be made durable, or if no store can say whether its
        transaction id came before: it may be recorded later then, and sending it again is safe.
        """
        config = await self._config(conversion, client)
        owner_id = await self._owner(conversion.click_id)
        self._allow(conversion, config, owner_id, client)
        return await self._record(conversion, config, owner_id)

    async def _record(
        self,
        conversion: Conversion,
        config: EventConfig | None,
        owner_id: UUID | None,
        event_id: int | None = None,
    ) -> Recorded:
        """Record a conversion whose click's account has been looked up.

        `event_id` is the id to use; None: a new one.
        """
        account_id = account_of(config, owner_id)
        rules = await self._rules_of(account_id)
        scopes = scopes_of(conversion, config, account_id)
        first = await self._earlier(scopes, conversion.transaction_id)
        if first is None and rules and (broken := _broken(rules, conversion)):
            claims = claims_of(conversion.transaction_id, scopes, self._journal.partitions)
            first = await self._first_or_refuse(claims, rules, broken)
        if first is None:
            number = event_id or await self._event_ids.next()
            event = event_of(number, conversion, config, account_id, scopes, rules is not None)
            cap = rules.max_per_click if rules and owner_id is not None else None
            first = await self._append_within(cap, rules, event, scopes)
        return Recorded(first, owner_id is not None)

    def record_from_memory(
        self, waiter: Waiter[Recorded], conversion: Conversion, client: str = ""
    ) -> bool:
        """Record as `record` does, and pass the result to `waiter` in a later turn of the loop.

        Return False if `record` has to be called instead: the conversion has a transaction id, or
        memory does not know its event configuration, or has no event id. Raises BadRequest,
        NotFound, RateLimited or Unavailable; `waiter` is passed nothing then.
        """
        if conversion.transaction_id is not None:
            return False
        config = None
        if conversion.pbk is not None:
            known = self._configs.peek_by_postback_key(conversion.pbk)
            if known is None:
                return False
            config = checked_config(known.value, conversion)
        event_id = self._event_ids.next_from_memory()
        if event_id is None:
            return False
        append = partial(self._append_and_notify, waiter, event_id, conversion, config, client)
        if conversion.click_id is None:
            append(None)
        else:
            self._look_ups.owners.add(conversion.click_id.bytes, OwnerWaiter(append, waiter))
        return True

    def _append_and_notify(
        self,
        waiter: Waiter[Recorded],
        event_id: int,
        conversion: Conversion,
        config: EventConfig | None,
        client: str,
        owner_id: UUID | None,
    ) -> None:
        self._allow(conversion, config, owner_id, client)
        account_id = account_of(config, owner_id)
        if account_id is not None:
            known = self._rules.peek(account_id)
            rules = known and rules_in(known.value)
            if rules is None or rules.max_per_click is not None:
                self._record_later(waiter, conversion, config, owner_id, event_id)
                return
            if broken := _broken(rules, conversion):
                raise rules.refusal(broken)
        event = event_of(event_id, conversion, config, account_id, (), account_id is not None)
        recorded = Recorded(event_id, owner_id is not None)
        self._journal.append_and_notify(event, AppendWaiter(recorded, waiter))

    def _record_later(self, waiter: Waiter[Recorded], *rest: Any) -> None:
        """Record in a task what stores have to be asked about, and pass the result to `waiter`."""

        async def record() -> None:
            try:
                recorded = await self._record(*rest)
            except Exception as error:
                waiter.set_exception(error)
            else:
                waiter.set_result(recorded)

        task = asyncio.get_running_loop().create_task(record(), context=Context())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def close(self) -> None:
        """Wait until everything that was begun is recorded."""
        await self._look_ups.flushed()
        while self._later:
            await asyncio.wait(self._later)

    def _allow(
        self,
        conversion: Conversion,
        config: EventConfig | None,
        owner_id: UUID | None,
        client: str,
    ) -> None:
        """Spend the sender's allowance for conversions without a known account.

        Raises RateLimited if it is used up. While MongoDB does not answer, the accounts of clicks
        are not known, and all conversions pass.
        """
        if config is not None or owner_id is not None or not client or self._mongodb.is_open:
            return
        size = 1 + len(conversion.metadata or "") // _METADATA_BYTES_PER_CONVERSION
        if not self._pending.spend(client, size):
            PENDING_REFUSED.inc()
            raise RateLimited(
                "click_id: too many conversions from this address name clicks that are not stored; "
                "send them again later, or with pbk",
                _RETRY_SECONDS,
            )

    async def _rules_of(self, account_id: UUID | None) -> ConversionRules | None:
        """Return the rules of an account.

        None if the account is not known or no store answers: the drain checks it then.
        """
        if account_id is None:
            return None
        if known := self._rules.peek(account_id):
            return rules_in(known.value)
        if self._mongodb.is_open:
            return None
        try:
            return await answer_within(LOOK_UP_SECONDS, self._rules.get(account_id))
        except (Unavailable, TimeoutError) as error:
            self._mongodb.record_failure(error)
            return None

    async def _config(self, conversion: Conversion, client: str) -> EventConfig | None:
        if conversion.pbk is None:
            return None
        config = await self._configs.by_postback_key(conversion.pbk, client)
        return checked_config(config, conversion)

    async def _owner(self, click_id: UUID | None) -> UUID | None:
        """Return the account of a click; None if it is not known yet, so the event is pending.

        That is so too if MongoDB does not answer in time.
        """
        return None if click_id is None else await self._look_ups.owners.submit(click_id.bytes)

    async def _earlier(self, scopes: Sequence[UUID], transaction_id: str | None) -> int | None:
        """Return the id of the stored event that had this transaction id first."""
        if transaction_id is None:
            return None
        return await self._look_ups.earlier.submit((scopes, transaction_id))

    async def _append_within(
        self, cap: int | None, rules: ConversionRules | None, event: Event, scopes: Sequence[UUID]
    ) -> int:
        """Append, unless the click of `event` has as many conversions as its account allows."""
        if cap is None or rules is None or event.click_id is None:
            return await self._once.append(event, scopes)
        config_id = None if event.event_config_id is None else UUID(bytes=event.event_config_id)
        which = UUID(bytes=event.click_id), config_id
        if not await self._caps.acquire(*which, cap):
            claims = claims_of(event.transaction_id, scopes, self._journal.partitions)
            return await self._first_or_refuse(claims, rules, Rule.MAX_PER_CLICK)
        first = None
        try:
            first = await self._once.append(event, scopes)
        finally:
            if first != event.id:
                await self._caps.release(*which)
        return first

    async def _first_or_refuse(
        self, claims: Sequence[str], rules: ConversionRules, broken: Rule
    ) -> int:
        """Return the event that has these claims. Raises BadRequest if there is none.

        A conversion that is sent again is answered as before, whatever rules came since.
        """
        first = await self._journal.holder(claims)
        if first is None:
            raise rules.refusal(broken)
        return first


def _broken(rules: ConversionRules, conversion: Conversion) -> Rule | None:
    return rules.broken_by(conversion.pbk is not None, conversion.value)
