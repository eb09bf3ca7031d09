"""A conversion event as the journal carries it."""

import msgspec


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="e"):
    """Fields are only ever added at the end: entries of an older release must still decode.

    `id` is the event id, `at` is in milliseconds since the epoch, the others are 16 bytes of a
    UUID. `account_id` None: not known until the click is. `value` and `payout` are decimal text,
    `metadata` JSON text. `transaction_scope` is what the transaction id is unique in: the event
    config, or the account, or (while the account is not known) the click. `checked`: the rules of
    its account were checked before it was answered (`conversions/rules`).
    """

    id: int
    at: int
    account_id: bytes | None
    event_config_id: bytes | None
    click_id: bytes | None
    value: str | None
    payout: str | None
    metadata: str | None
    transaction_id: str | None
    transaction_scope: bytes | None
    checked: bool = False
