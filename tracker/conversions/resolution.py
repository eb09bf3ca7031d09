"""Resolution of a conversion: its account, status, and the scopes of its transaction id. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tracker.clock import now_ms
from tracker.conversions.account_rules import CachedRules
from tracker.conversions.conversion import Conversion, Report
from tracker.conversions.corrections.status import NO_VALUE, OnRepeat, Status, click_key
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.conversions.postbacks.aliases import with_aliases, with_similar_status
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.conversions.postbacks.words import Meaning, Meanings, meaning_of
from tracker.errors import BadRequest, NotFound, Required
from tracker.journal.partitions import partition_of_transaction_id
from tracker.stores.redis import keys
from tracker.syntax.currency import checked_currency

_NEGATIVE_REFUND: Final = "value: ignored, because nothing below 0 can be refunded"
_NO_CURRENCY: Final = "currency: ignored, because the account has none"
_NO_STATUSES: Final[Meanings] = {}


class Reported(NamedTuple):
    """The status of a conversion, None if no word of one was sent, and what a repeat does."""

    status: Status | None = None
    unknown_word: str | None = None
    on_repeat: OnRepeat = OnRepeat.FIRST
    warnings: tuple[str, ...] = ()

    @property
    def counts_value(self) -> bool:
        return self.status not in NO_VALUE


_NOTHING: Final = Reported()


class Origin(NamedTuple):
    """An upload that tells of a conversion. What its row says is restated, unless by configuration.

    `at` is when the upload was sent. With `is_dry_run` the row is only checked.
    """

    actor: str
    at: int
    notify: bool
    is_dry_run: bool

    def reported(self, reported: Reported, config: EventConfig | None) -> Reported:
        is_first = config is not None and config.on_repeat is OnRepeat.FIRST
        return reported._replace(on_repeat=OnRepeat.FIRST if is_first else OnRepeat.UPDATE)

    def applied(self, new: Conversion) -> Conversion:
        report = replace(new.report or _PLAIN, actor=self.actor, notify=self.notify)
        return replace(new, at=self.at, report=report)


def read_by(
    config: EventConfig | None, parameters: ConversionParameters
) -> tuple[ConversionParameters, Reported]:
    """Read names and words as the configuration of the postback key says, or as all do.

    Raises NotFound if there should be one, BadRequest for a bad alias.
    """
    if config is None and parameters.pbk is not None:
        raise NotFound("pbk: no active event configuration has this postback key")
    if parameters.others:
        statuses = config.statuses if config else _NO_STATUSES
        parameters = with_aliases(parameters, config.parameter_aliases if config else {})
        parameters = with_similar_status(parameters, statuses)
    reported = _reported(config, parameters.status)
    if reported.status is Status.REFUNDED and parameters.value is not None and parameters.value < 0:
        parameters = replace(parameters, value=None)
        reported = reported._replace(warnings=(*reported.warnings, _NEGATIVE_REFUND))
    if (
        parameters.transaction_id is None
        and reported.status is not None
        and config is not None
        and parameters.click_id is not None
        and reported.on_repeat is not OnRepeat.COUNT
    ):
        parameters = replace(parameters, transaction_id=click_key(parameters.click_id))
    return parameters, reported


def _reported(config: EventConfig | None, word: str | None) -> Reported:
    configured = config.on_repeat if config else None
    if word is None:
        return _NOTHING if configured is None else Reported(on_repeat=configured)
    meaning = meaning_of(word, config.statuses if config else _NO_STATUSES)
    on_repeat = configured or OnRepeat.UPDATE
    if meaning is Meaning.COUNT:
        return Reported(Status.APPROVED, on_repeat=OnRepeat.COUNT)
    if meaning is not None:
        return Reported(Status(meaning), on_repeat=on_repeat)
    if config is None:
        return Reported(warnings=(f"status: {word} is ignored; it is no known word",))
    status = config.unknown_status
    warning = f"status: {word} has no meaning yet; recorded as {status}"
    return Reported(status, word, on_repeat, (warning,))


def lacks_value(config: EventConfig | None, value: object, reported: Reported = _NOTHING) -> bool:
    """Return whether an approved conversion needs a value, which it has not."""
    return (
        config is not None
        and config.payout_type is PayoutType.REV_SHARE
        and value is None
        and reported.status in (None, Status.APPROVED)
    )


def value_required() -> BadRequest:
    return Required("value: required, because the payout type is RevShare")


def currency_of(
    parameters: ConversionParameters,
    config: EventConfig | None,
    account: CachedRules | None,
    restates: bool,
) -> tuple[str | None, tuple[str, ...]]:
    """Return the currency, None if it is the account's, and the warning if that has none.

    Without `account` the drain compares them. A restatement has it in any case: the conversion may
    have been in another one. Raises BadRequest for a currency that is none, unless it is ignored.
    """
    sent = parameters.currency
    if sent and (account is None or account.currency):
        checked_currency("currency", sent)
    currency = sent or (config.currency if config else None)
    if account is None or currency is None:
        return currency, ()
    if account.currency is None:
        return None, (_NO_CURRENCY,) if sent else ()
    is_plain = currency == account.currency and not restates
    return (None if is_plain else currency), ()


def report_of(
    parameters: ConversionParameters,
    reported: Reported,
    config: EventConfig | None,
    currency: str | None,
) -> Report | None:
    """Return what the journal adds to the conversion; None if it is plain."""
    has_click = config is not None and parameters.click_id is not None
    report = Report(
        reported=reported.status,
        unknown_word=reported.unknown_word,
        on_repeat=reported.on_repeat,
        currency=currency,
        occurred_at=parameters.occurred_at,
        min_ms=_ms(config.min_seconds, 1) if config and has_click else None,
        max_ms=_ms(config.window_days, 86_400) if config and has_click else None,
    )
    if report == _PLAIN:
        return None
    is_fixed = config is not None and config.payout_type is not PayoutType.REV_SHARE
    return replace(report, has_fixed_payout=is_fixed)


_PLAIN: Final = Report()


def _ms(number: int | None, seconds: int) -> int | None:
    return None if number is None else number * seconds * 1000


def account_of(config: EventConfig | None, owner_id: UUID | None) -> UUID | None:
    """Return the account, None if it is not known yet. `owner_id` is the click's account.

    Raises BadRequest if the click and the configuration belong to different accounts.
    """
    if config is None:
        return owner_id
    if owner_id is not None and owner_id != config.account_id:
        raise BadRequest("click_id: belongs to another account than pbk")
    return config.account_id


def scopes_of(
    parameters: ConversionParameters, config: EventConfig | None, account_id: UUID | None
) -> tuple[UUID, ...]:
    """Return the scopes in which the transaction id is unique, the stored one first.

    Without an event configuration it is the account, or the click while the account is unknown. The
    click stays a scope, because an earlier conversion may have used it.
    """
    if config is not None:
        return (config.id,)
    return tuple(scope for scope in (account_id, parameters.click_id) if scope is not None)


def conversion_of(
    event_id: int,
    parameters: ConversionParameters,
    config: EventConfig | None,
    account_id: UUID | None,
    scopes: Sequence[UUID],
    checked: bool,
    warnings: Sequence[str] = (),
    report: Report | None = None,
) -> Conversion:
    return Conversion(
        id=event_id,
        at=now_ms(),
        account_id=_bytes(account_id),
        event_config_id=_bytes(None if config is None else config.id),
        click_id=_bytes(parameters.click_id),
        value=None if parameters.value is None else str(parameters.value),
        payout=_payout(config, parameters, report),
        metadata=parameters.metadata,
        transaction_id=parameters.transaction_id,
        transaction_scope=_bytes(scopes[0]) if parameters.transaction_id is not None else None,
        checked=checked,
        warnings=tuple(warnings) or None,
        report=report,
        consent=parameters.consent,
    )


def _payout(
    config: EventConfig | None, parameters: ConversionParameters, report: Report | None
) -> str | None:
    """Return the payout. A share of a value that is not told yet is none."""
    if config is None or (report and not report.has_fixed_payout and parameters.value is None):
        return None
    return str(config.payout_of(parameters.value))


def _bytes(value: UUID | None) -> bytes | None:
    return None if value is None else value.bytes


class Checked(NamedTuple):
    """What the checks of a draft have found. `first` has the same transaction id already."""

    first: int | None
    scopes: tuple[UUID, ...]
    currency: str | None
    warnings: tuple[str, ...]


class Draft(NamedTuple):
    """A conversion to append. `account` is None if its rules are not known.

    `owner_id` is the account of its click, None if that is not stored.
    """

    parameters: ConversionParameters
    reported: Reported
    config: EventConfig | None
    account: CachedRules | None
    account_id: UUID | None
    owner_id: UUID | None
    restates: bool
    origin: Origin | None

    def conversion(self, event_id: int, checked: Checked) -> Conversion:
        scopes = checked.scopes or (UUID(int=event_id),)
        of = (self.parameters, self.config, self.account_id, scopes, self.account is not None)
        report = report_of(self.parameters, self.reported, self.config, checked.currency)
        new = conversion_of(event_id, *of, checked.warnings, report)
        return new if self.origin is None else self.origin.applied(new)


def claim_keys(
    transaction_id: str | None, scopes: Sequence[UUID], partitions: int
) -> tuple[str, ...]:
    """Return the Redis keys that the first conversion with this transaction id claims."""
    if transaction_id is None:
        return ()
    partition = partition_of_transaction_id(transaction_id, partitions)
    return tuple(keys.transaction_claim(scope, transaction_id, partition) for scope in scopes)
