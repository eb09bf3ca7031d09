"""Records conversions: checks them, and makes them durable in the journal before the answer.

The API calls it for each conversion. The order of checks is the contract with senders.

Guarantee: a refused conversion is not recorded, and an answered one is durable.
"""

import asyncio
from contextvars import Context
from decimal import Decimal
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tracker.conversions.account_rules import AccountRules, CachedRules, refusal
from tracker.conversions.append import ConversionAppender
from tracker.conversions.conversion import Conversion
from tracker.conversions.corrections.status import OnRepeat
from tracker.conversions.event_config import EventConfig, EventConfigs
from tracker.conversions.event_ids import EventIds, ReservedId
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.postbacks.aliases import MAX_WARNINGS, SHARED_ID, warnings_of
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.conversions.resolution import (
    Checked,
    Draft,
    Origin,
    account_of,
    conversion_of,
    currency_of,
    lacks_value,
    read_by,
    scopes_of,
    value_required,
)
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.metrics import PENDING_REFUSED
from tracker.stores.batch import Waiter
from tracker.stores.breaker import answer_within

_METADATA_BYTES_PER_CONVERSION: Final = 1024
"""In the limit of conversions without an account, so much metadata counts as one more."""

_RETRY_SECONDS: Final = 10
"""The Retry-After of the limit. Most clicks are stored within a second."""
_Appended = tuple[int, int | None, tuple[str, ...]]


class RecordedConversion(NamedTuple):
    """A recorded conversion, or the earlier one that it repeats.

    Then it `is_duplicate`, or `is_updated` if it restates the earlier one. While no store knows
    that, both are False, and the drain decides.
    """

    event_id: int
    click_found: bool
    click_named: bool = False
    is_duplicate: bool = False
    warnings: tuple[str, ...] = ()
    is_updated: bool = False


class Recorder:
    """Records conversions."""

    def __init__(
        self,
        configs: EventConfigs,
        look_ups: LookUps,
        event_ids: EventIds,
        appender: ConversionAppender,
        rules: AccountRules,
        pending: Allowance,
    ) -> None:
        self._configs = configs
        self._look_ups = look_ups
        self._event_ids = event_ids
        self._appender = appender
        self._rules = rules
        self._pending = pending
        self._mongodb = look_ups.mongodb
        self._tasks: set[asyncio.Task[RecordedConversion]] = set()

    def begin(
        self, parameters: ConversionParameters, client: str, waiter: Waiter[RecordedConversion]
    ) -> None:
        """Record as `record` does, and notify `waiter`. `close` waits for what has begun."""
        try:
            if self._begin_in_memory(parameters, waiter):
                return
        except Unavailable as error:
            waiter.set_exception(error)
            return
        task = asyncio.get_running_loop().create_task(
            self.record(parameters, client), context=Context()
        )
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, waiter))

    def _begin_in_memory(
        self, parameters: ConversionParameters, waiter: Waiter[RecordedConversion]
    ) -> bool:
        """Append a plain conversion by postback key, if memory knows all that it needs.

        Without a task it takes half as long. Return False if it needs `record`.
        """
        pbk, value = parameters.pbk, parameters.value
        if pbk is None or parameters.click_id is not None or parameters.transaction_id is not None:
            return False
        if parameters.others or parameters.metadata is not None:
            return False
        config = self._configs.peek(pbk)
        if config is None or config.on_repeat or config.currency or lacks_value(config, value):
            return False
        account = self._rules.peek(config.account_id)
        if account is None or account.rules.broken_by(True, value):
            return False
        event_id = self._event_ids.next_in_memory()
        if event_id is None:
            return False
        warnings = warnings_of(parameters)
        recorded = RecordedConversion(event_id, click_found=False, warnings=warnings)
        new = conversion_of(event_id, parameters, config, config.account_id, (), True, warnings)
        self._appender.append_and_notify(new, waiter, recorded)
        return True

    def _end(
        self, waiter: Waiter[RecordedConversion], task: asyncio.Task[RecordedConversion]
    ) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            waiter.set_exception(Unavailable("the service stops; try again"))
        elif error := task.exception():
            waiter.set_exception(error)  # type: ignore[arg-type]
        else:
            waiter.set_result(task.result())

    async def record(
        self,
        parameters: ConversionParameters,
        client: str = "",
        origin: Origin | None = None,
        reserved: ReservedId | None = None,
    ) -> RecordedConversion:
        """Record a conversion. `client` is the sender's address, `origin` an upload.

        Raises BadRequest, NotFound or RateLimited if it is refused; nothing is recorded then.
        Raises Unavailable if it cannot be made durable, or no store knows whether it is a repeat.
        Then it may still be recorded, and sending it again is safe.
        """
        draft = await self._draft(parameters, client, origin)
        parameters, restates = draft.parameters, draft.restates
        if draft.account_id is None:
            self._allow_without_account(parameters, client)
        first, event_id, warnings = await self._append(draft, reserved)
        is_repeat = first != event_id
        if is_repeat:
            warnings = await self._appender.warned(parameters, first, warnings)
        if SHARED_ID in warnings:
            self._appender.record_shared(first)
        if is_repeat and not restates and origin is None:
            self._appender.record_repeat(first)
        return RecordedConversion(
            first,
            click_found=draft.owner_id is not None,
            click_named=parameters.click_id is not None,
            is_duplicate=is_repeat and not restates,
            warnings=warnings,
            is_updated=is_repeat and restates,
        )

    async def check(
        self, parameters: ConversionParameters, account_id: UUID, client: str
    ) -> tuple[Conversion, int | None]:
        """Check as `record` does, as if other accounts had no keys and clicks. Record nothing.

        Return the conversion that would be recorded, and the id of the one that it repeats.
        """
        draft = await self._draft(parameters, client, viewer=account_id)
        checked = await self._check(draft, also_claimed=True)
        if checked.first is not None:
            known = checked.first, checked.warnings
            warnings = await self._appender.warned(draft.parameters, *known)
            checked = checked._replace(warnings=warnings)
        return draft.conversion(0, checked), checked.first

    async def _draft(
        self,
        parameters: ConversionParameters,
        client: str,
        origin: Origin | None = None,
        viewer: UUID | None = None,
    ) -> Draft:
        """Read the parameters, and look up their account. Raises as `record`."""
        config = None
        if parameters.pbk is not None:
            config = await self._configs.by_postback_key(parameters.pbk, client)
            if viewer and config and config.account_id != viewer:
                config = None
        parameters, reported = read_by(config, parameters)
        if origin is not None:
            reported = origin.reported(reported, config)
        restates = reported.on_repeat is OnRepeat.UPDATE and parameters.transaction_id is not None
        if not restates and lacks_value(config, parameters.value, reported):
            raise value_required()
        owner_id = None
        if parameters.click_id is not None:
            # None if the click is not stored yet, or MongoDB does not answer.
            owner_id = await self._look_ups.owners.submit(parameters.click_id.bytes)
        if viewer and config is None and owner_id != viewer:
            owner_id = None
        account_id = account_of(config, owner_id)
        account = await self._account(account_id)
        return Draft(parameters, reported, config, account, account_id, owner_id, restates, origin)

    async def _append(self, draft: Draft, reserved: ReservedId | None) -> _Appended:
        """Append, unless it is a mere repeat. Return the ids of the first and the new; warnings."""
        checked = await self._check(draft)
        first, warnings = checked.first, checked.warnings
        if first is not None and not draft.restates:
            return first, reserved and reserved.known, warnings
        if draft.origin is not None and draft.origin.is_dry_run:
            return first or 0, 0, warnings
        new = draft.conversion(await self._event_ids.next(reserved), checked)
        appended = await self._appender.append(new, checked.scopes if first is None else ())
        return appended if first is None else first, new.id, warnings

    async def _check(self, draft: Draft, also_claimed: bool = False) -> Checked:
        """Raises BadRequest if the conversion is refused."""
        parameters, reported, config, account, account_id, *_ = draft
        value = parameters.value if reported.counts_value else None
        broken = account and account.rules.broken_by(config is not None, value)
        lacking = lacks_value(config, parameters.value, reported)
        scopes: tuple[UUID, ...] = ()
        first = None
        if parameters.transaction_id is not None and reported.on_repeat is not OnRepeat.COUNT:
            scopes = scopes_of(parameters, config, account_id)
            also_claimed = also_claimed or bool(broken) or lacking
            first = await self._appender.find_first(parameters.transaction_id, scopes, also_claimed)
        if account and broken and (first is None or draft.restates):
            raise refusal(account.rules, broken)
        if first is None and lacking:
            raise value_required()
        currency, warnings = currency_of(parameters, config, account, draft.restates)
        warnings = (*reported.warnings, *warnings, *warnings_of(parameters))[:MAX_WARNINGS]
        return Checked(first, scopes, currency, warnings)

    async def record_test(
        self, config: EventConfig, click_id: UUID | None, value: Decimal | None
    ) -> int:
        """Record a test conversion, which never counts; return its event id once it is durable.

        The click is stored, and of the account of `config`. Rules and caps do not apply to tests.

        Raises BadRequest if the payout type requires a value, Unavailable if it cannot be durable.
        """
        parameters = ConversionParameters(
            pbk=config.pbk, click_id=click_id, value=value, metadata=None, transaction_id=None
        )
        if lacks_value(config, value):
            raise value_required()
        event_id = await self._event_ids.next()
        conversion = conversion_of(event_id, parameters, config, config.account_id, (), True)
        return await self._appender.append(replace(conversion, test=True), ())

    async def close(self) -> None:
        """Wait for the tasks of `begin`."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _allow_without_account(self, parameters: ConversionParameters, client: str) -> None:
        """Use the sender's allowance for conversions without a known account.

        Raises RateLimited if it is used up. While MongoDB does not answer, nothing is limited.
        """
        if not client or self._mongodb.is_open:
            return
        size = 1 + len(parameters.metadata or "") // _METADATA_BYTES_PER_CONVERSION
        if not self._pending.use(client, size):
            PENDING_REFUSED.inc()
            raise RateLimited(
                "click_id: too many conversions from this address name clicks that are not stored; "
                "send them again later, or with pbk",
                _RETRY_SECONDS,
            )

    async def _account(self, account_id: UUID | None) -> CachedRules | None:
        """Return rules and currency. If they or the account are unknown: None; the drain checks."""
        known = None if account_id is None else self._rules.peek(account_id)
        if account_id is None or known or self._mongodb.is_open:
            return known
        try:
            return await answer_within(LOOK_UP_SECONDS, self._rules.cached(account_id))
        except (Unavailable, TimeoutError) as error:
            self._mongodb.record_failure(error)
            return None
