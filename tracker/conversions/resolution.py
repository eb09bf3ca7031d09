"""Resolution of a conversion: its account, and the scopes of its transaction id. Pure."""

from collections.abc import Sequence
from uuid import UUID

from tracker.clock import now_ms
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.conversions.postbacks.aliases import check_status, with_aliases
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.errors import BadRequest, NotFound
from tracker.journal.partitions import partition_of_transaction_id
from tracker.stores.redis import keys


def apply_config(
    config: EventConfig | None, parameters: ConversionParameters
) -> tuple[EventConfig, ConversionParameters]:
    """Check the configuration of a postback key, and apply its aliases to the conversion.

    Raises NotFound without a configuration, BadRequest for a bad alias or a missing value,
    RejectedConversion for a status that says so.
    """
    if config is None:
        raise NotFound("pbk: no active event configuration has this postback key")
    parameters = with_aliases(parameters, config.parameter_aliases)
    check_status(parameters)
    if config.payout_type is PayoutType.REV_SHARE and parameters.value is None:
        raise BadRequest("value: required, because the payout type is RevShare")
    return config, parameters


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
) -> Conversion:
    return Conversion(
        id=event_id,
        at=now_ms(),
        account_id=_bytes(account_id),
        event_config_id=_bytes(None if config is None else config.id),
        click_id=_bytes(parameters.click_id),
        value=None if parameters.value is None else str(parameters.value),
        payout=None if config is None else str(config.payout_of(parameters.value)),
        metadata=parameters.metadata,
        transaction_id=parameters.transaction_id,
        transaction_scope=_bytes(scopes[0]) if parameters.transaction_id is not None else None,
        checked=checked,
        warnings=tuple(warnings) or None,
    )


def _bytes(value: UUID | None) -> bytes | None:
    return None if value is None else value.bytes


def claim_keys(
    transaction_id: str | None, scopes: Sequence[UUID], partitions: int
) -> tuple[str, ...]:
    """Return the Redis keys that the first conversion with this transaction id claims."""
    if transaction_id is None:
        return ()
    partition = partition_of_transaction_id(transaction_id, partitions)
    return tuple(keys.transaction_claim(scope, transaction_id, partition) for scope in scopes)
