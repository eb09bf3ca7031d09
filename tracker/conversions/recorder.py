"""Recording of conversions: checked, durable in the journal, then answered.

Called by the API for each conversion. The order of checks is the contract with senders.

Guarantee: a refused conversion is not recorded, and an answered one is durable.
"""

import asyncio
from contextvars import Context
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tracker.conversions.aliases import warnings_of
from tracker.conversions.append import AppendOnce
from tracker.conversions.event_config import EventConfig, EventConfigs
from tracker.conversions.event_ids import EventIds
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.parameters import ConversionParameters
from tracker.conversions.resolution import account_of, event_of, resolved, scopes_of
from tracker.conversions.rules import AccountRules, ConversionRules, rules_in
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.metrics import PENDING_REFUSED
from tracker.stores.breaker import answer_within

_METADATA_BYTES_PER_CONVERSION: Final = 1024
"""So much metadata counts as one more conversion without an account."""

_RETRY_SECONDS: Final = 10
"""The Retry-After of a refusal: most clicks are stored within a second."""


class Recorded(NamedTuple):
    """The result of recording. If it `is_duplicate`, an earlier event has the transaction id.

    `event_id` is then that event. While no store can tell, it is False, and the drain decides.
    """

    event_id: int
    click_found: bool
    click_named: bool = False
    is_duplicate: bool = False
    warnings: tuple[str, ...] = ()


class Recorder:
    """The recording of conversions."""

    def __init__(
        self,
        configs: EventConfigs,
        look_ups: LookUps,
        event_ids: EventIds,
        once: AppendOnce,
        rules: AccountRules,
        pending: Allowance,
    ) -> None:
        self._configs = configs
        self._look_ups = look_ups
        self._event_ids = event_ids
        self._once = once
        self._rules = rules
        self._pending = pending
        self._mongodb = look_ups.mongodb
        self._begun: set[asyncio.Task[Recorded]] = set()

    def begin(self, conversion: ConversionParameters, client: str = "") -> asyncio.Task[Recorded]:
        """Record in a task that `close` waits for."""
        task = asyncio.get_running_loop().create_task(
            self.record(conversion, client), context=Context()
        )
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task

    async def record(self, conversion: ConversionParameters, client: str = "") -> Recorded:
        """Record a conversion that the sender at the address `client` reports.

        Raises BadRequest, NotFound or RateLimited if it is refused; nothing is recorded then.
        Raises Unavailable if it cannot be made durable, or no store can tell whether it is a
        repeat. It may be recorded later, and sending it again is safe.
        """
        config, owner_id = None, None
        if conversion.pbk is not None:
            found = await self._configs.by_postback_key(conversion.pbk, client)
            config, conversion = resolved(found, conversion)
        if conversion.click_id is not None:
            # None if it is not stored yet, or MongoDB does not answer: the event is pending then.
            owner_id = await self._look_ups.owners.submit(conversion.click_id.bytes)
        account_id = account_of(config, owner_id)
        if account_id is None:
            self._allow_without_account(conversion, client)
        rules = await self._rules_of(account_id)
        broken = rules and rules.broken_by(config is not None, conversion.value)
        scopes = scopes_of(conversion, config, account_id)
        first, number = None, None
        if conversion.transaction_id is not None:
            first = await self._once.first(
                conversion.transaction_id, scopes, also_claimed=bool(broken)
            )
        if first is None:
            if rules and broken:
                raise rules.refusal(broken)
            number = await self._event_ids.next()
            event = event_of(number, conversion, config, account_id, scopes, rules is not None)
            first = await self._once.append(event, scopes)
        return Recorded(
            first,
            click_found=owner_id is not None,
            click_named=conversion.click_id is not None,
            is_duplicate=first != number,
            warnings=warnings_of(conversion) if conversion.others else (),
        )

    async def record_test(
        self, config: EventConfig, click_id: UUID | None, value: Decimal | None
    ) -> int:
        """Record a test conversion, which never counts; return its event id once it is durable.

        The click is stored, and of the account of `config`. Rules and caps do not hold for tests.

        Raises BadRequest if the payout type requires a value, Unavailable if no store can keep it.
        """
        conversion = ConversionParameters(
            pbk=config.pbk, click_id=click_id, value=value, metadata=None, transaction_id=None
        )
        resolved(config, conversion)
        number = await self._event_ids.next()
        event = event_of(number, conversion, config, config.account_id, (), True)
        return await self._once.append(replace(event, test=True), ())

    async def close(self) -> None:
        """Wait until all that has begun is recorded."""
        while self._begun:
            await asyncio.wait(self._begun)

    def _allow_without_account(self, conversion: ConversionParameters, client: str) -> None:
        """Spend the sender's allowance for conversions without a known account.

        Raises RateLimited if it is used up. While MongoDB does not answer, all conversions pass.
        """
        if not client or self._mongodb.is_open:
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
        """Return the rules; None if they or the account are unknown: the drain checks then."""
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
