"""Records conversions: checks them, and makes them durable in the journal before the answer.

The API calls it for each conversion. The order of checks is the contract with senders.

Guarantee: a refused conversion is not recorded, and an answered one is durable.
"""

import asyncio
from contextvars import Context
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tracker.conversions.account_rules import AccountRules, refusal
from tracker.conversions.append import ConversionAppender
from tracker.conversions.event_config import EventConfig, EventConfigs
from tracker.conversions.event_ids import EventIds
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.postbacks.aliases import MAX_WARNINGS, SHARED_ID, check_status, warnings_of
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.conversions.resolution import account_of, apply_config, conversion_of, scopes_of
from tracker.conversions.rules import ConversionRules
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.metrics import PENDING_REFUSED
from tracker.stores.breaker import answer_within

_METADATA_BYTES_PER_CONVERSION: Final = 1024
"""In the limit of conversions without an account, so much metadata counts as one more."""

_RETRY_SECONDS: Final = 10
"""The Retry-After of the limit. Most clicks are stored within a second."""


class RecordedConversion(NamedTuple):
    """A recorded conversion, or the earlier one with its transaction id if it `is_duplicate`.

    While no store knows that, `is_duplicate` is False, and the drain decides.
    """

    event_id: int
    click_found: bool
    click_named: bool = False
    is_duplicate: bool = False
    warnings: tuple[str, ...] = ()


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
        self, parameters: ConversionParameters, client: str = ""
    ) -> asyncio.Task[RecordedConversion]:
        """Record in a task that `close` waits for."""
        task = asyncio.get_running_loop().create_task(
            self.record(parameters, client), context=Context()
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def record(
        self, parameters: ConversionParameters, client: str = ""
    ) -> RecordedConversion:
        """Record a conversion. `client` is the sender's address.

        Raises BadRequest, NotFound or RateLimited if it is refused; nothing is recorded then.
        Raises Unavailable if it cannot be made durable, or no store knows whether it is a repeat.
        Then it may still be recorded, and sending it again is safe.
        """
        config, parameters = await self._configured(parameters, client)
        owner_id = None
        if parameters.click_id is not None:
            # None if the click is not stored yet, or MongoDB does not answer.
            owner_id = await self._look_ups.owners.submit(parameters.click_id.bytes)
        account_id = account_of(config, owner_id)
        if account_id is None:
            self._allow_without_account(parameters, client)
        rules = await self._rules_of(account_id)
        broken = rules and rules.broken_by(config is not None, parameters.value)
        scopes = scopes_of(parameters, config, account_id)
        warnings = warnings_of(parameters)
        first, event_id = None, None
        if parameters.transaction_id is not None:
            first = await self._appender.find_first(parameters.transaction_id, scopes, bool(broken))
        if first is None:
            if rules and broken:
                raise refusal(rules, broken)
            event_id = await self._event_ids.next()
            checked = rules is not None
            new = conversion_of(event_id, parameters, config, account_id, scopes, checked, warnings)
            first = await self._appender.append(new, scopes)
        is_repeat = first != event_id
        return RecordedConversion(
            first,
            click_found=owner_id is not None,
            click_named=parameters.click_id is not None,
            is_duplicate=is_repeat,
            warnings=await self._warned(parameters, first, warnings) if is_repeat else warnings,
        )

    async def _configured(
        self, parameters: ConversionParameters, client: str
    ) -> tuple[EventConfig | None, ConversionParameters]:
        """Return the event configuration, and the parameters by its names."""
        if parameters.pbk is None:
            check_status(parameters)
            return None, parameters
        found = await self._configs.by_postback_key(parameters.pbk, client)
        return apply_config(found, parameters)

    async def _warned(
        self, parameters: ConversionParameters, earlier: int, warnings: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the warnings of a repeat of the transaction id of an `earlier` conversion.

        An id such as `0` or `unknown` may be a filler that all conversions share. That shows when
        their clicks differ.
        """
        if parameters.click_id is None:
            return warnings
        if await self._appender.is_shared(earlier, parameters.click_id):
            return (SHARED_ID, *warnings)[:MAX_WARNINGS]
        return warnings

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
        apply_config(config, parameters)
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

    async def _rules_of(self, account_id: UUID | None) -> ConversionRules | None:
        """Return the rules. If they or the account are unknown, return None: the drain checks."""
        if account_id is None:
            return None
        if known := self._rules.peek(account_id):
            return known
        if self._mongodb.is_open:
            return None
        try:
            return await answer_within(LOOK_UP_SECONDS, self._rules.cached(account_id))
        except (Unavailable, TimeoutError) as error:
            self._mongodb.record_failure(error)
            return None
