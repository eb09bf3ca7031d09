"""The conversion in the journal, as it was received, and the correction of one."""

from typing import Final

import msgspec

from tracker.conversions.corrections.status import OnRepeat
from tracker.journal.entry import JournalRecord

POSTBACK: Final = "postback"
"""The actor of a conversion that was sent to `/api/event`."""


class Report(msgspec.Struct, frozen=True, array_like=True, gc=False, kw_only=True):
    """What a sender or an event configuration adds to a conversion. Add fields only at the end.

    - `reported`: a `Status`; None if no word of one was sent. `unknown_word`: the word, if the
      event configuration does not have it.
    - `on_repeat`: an `OnRepeat`. With `update` this may be a restatement of an earlier conversion.
    - `currency` that was sent or configured, in capitals.
    - `occurred_at` in milliseconds, of a late report. It is the conversion's time then.
    - `has_fixed_payout`: the payout does not follow from the value.
    - `min_ms` and `max_ms`: the allowed time since its click, None for any.
    - `actor` as in `corrections/changes`. `notify`: webhooks are told.
    """

    reported: str | None = None
    unknown_word: str | None = None
    on_repeat: str = OnRepeat.FIRST
    currency: str | None = None
    occurred_at: int | None = None
    has_fixed_payout: bool = False
    min_ms: int | None = None
    max_ms: int | None = None
    actor: str = POSTBACK
    notify: bool = True


class Conversion(JournalRecord, frozen=True, tag="e"):
    """A conversion, with its fields in the order of the journal.

    - `at` is in milliseconds since the epoch. All ids but `id` are the 16 bytes of a UUID.
    - `account_id` is None until the click shows it.
    - `value` and `payout` are decimal text, `metadata` is JSON text.
    - `transaction_scope`: the event configuration, else the account, else the click.
    - `checked`: the account's rules were checked before the answer (`conversions/rules`).
    - `test`: the account sent it to try its set-up.
    - `warnings` of its answer, None if it had none. Records of 1.0.0 have no such field.
    - `report`: what only some conversions have.
    - `consent` of the visitor, granted or denied, as its sender tells it.
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
    test: bool = False
    warnings: tuple[str, ...] | None = None
    report: Report | None = None
    consent: str | None = None

    @property
    def partition_key(self) -> bytes:
        """Return the transaction id, because its claim has the same partition; else the click."""
        if self.transaction_id is not None:
            return self.transaction_id.encode("utf-8", "surrogatepass")
        return self.click_id or self.id.to_bytes(8)

    @property
    def overflow_account(self) -> bytes:
        return self.account_id or b""


class Correction(JournalRecord, frozen=True, tag="r"):
    """New values of some fields of a stored conversion, which it is known to have.

    - `id` are the 16 bytes of a UUID, `event_id` is the conversion's. `at` is in milliseconds.
    - `stated` is JSON text: an object of the fields of `Restated` there, money as decimal text.
    """

    id: bytes
    at: int
    account_id: bytes
    event_id: int
    stated: str
    actor: str
    reason: str
    note: str | None = None
    notify: bool = True

    @property
    def partition_key(self) -> bytes:
        return self.event_id.to_bytes(8)

    @property
    def overflow_account(self) -> bytes:
        return self.account_id
