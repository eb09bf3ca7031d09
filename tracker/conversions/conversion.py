"""The conversion in the journal, as it was received."""

from tracker.journal.entry import JournalRecord


class Conversion(JournalRecord, frozen=True, tag="e"):
    """A conversion, with its fields in the order of the journal.

    - `at` is in milliseconds since the epoch. All ids but `id` are the 16 bytes of a UUID.
    - `account_id` is None until the click shows it.
    - `value` and `payout` are decimal text, `metadata` is JSON text.
    - `transaction_scope`: the event configuration, else the account, else the click.
    - `checked`: the account's rules were checked before the answer (`conversions/rules`).
    - `test`: the account sent it to try its set-up.
    - `warnings` of its answer, None if it had none. Records of 1.0.0 have no such field.
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

    @property
    def partition_key(self) -> bytes:
        """Return the transaction id, because its claim has the same partition; else the click."""
        if self.transaction_id is not None:
            return self.transaction_id.encode("utf-8", "surrogatepass")
        return self.click_id or self.id.to_bytes(8)

    @property
    def overflow_account(self) -> bytes:
        return self.account_id or b""
