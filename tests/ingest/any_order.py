"""Records of few conversions in any order, and naively what must come of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from tests.factories import AT_MS, make_click_document, make_conversion
from tracker.clock import moment
from tracker.conversions.conversion import Conversion, Correction, Report
from tracker.ids import new_id

HOME = "EUR"
ACCOUNT, CONFIG = new_id().bytes, new_id().bytes
CLICKS = [new_id().bytes for _ in range(3)]
MIN_MS, MAX_MS = 2, 40
OF_CLICK = "of click"
KEYS = ("a", "bc", OF_CLICK)
MONEY = (None, "10", "10.00", "20")


class Sent(NamedTuple):
    """A report or correction of the conversion `key`; `stated` are its fields."""

    key: str
    number: int
    at: int
    recorded_at: int
    stated: dict[str, Any]
    kind: str  # "first", "update" or "correction"
    click: bytes | None = None
    knows_account: bool = True
    fixed_payout: str | None = None
    has_window: bool = False

    @property
    def stamp(self) -> tuple[int, int, str]:
        return self.at, self.recorded_at, self.change_id

    @property
    def change_id(self) -> str:
        return f"{self.number:032x}" if self.kind == "correction" else str(self.number)

    def record(self, event_id: int) -> Conversion | Correction:
        """Return its record; a correction is one of `event_id`."""
        if self.kind == "correction":
            stated = msgspec.json.encode(self.stated).decode()
            return Correction(
                id=bytes.fromhex(self.change_id),
                at=AT_MS + self.at,
                account_id=ACCOUNT,
                event_id=event_id,
                stated=stated,
                actor="person:1",
                reason="mistake",
            )
        has_config = not self.key.startswith(OF_CLICK)
        scope = CONFIG if has_config else ACCOUNT if self.knows_account else self.click
        report = Report(
            reported=self.stated.get("reported"),
            on_repeat=self.kind,
            currency=self.stated.get("currency"),
            occurred_at=AT_MS + self.at,
            has_fixed_payout=self.fixed_payout is not None,
            min_ms=MIN_MS if self.has_window and self.click else None,
            max_ms=MAX_MS if self.has_window and self.click else None,
        )
        return make_conversion(
            self.number,
            self.click,
            at=AT_MS + self.recorded_at,
            account_id=ACCOUNT if self.knows_account else None,
            event_config_id=CONFIG if has_config else None,
            transaction_scope=scope,
            transaction_id=self.key,
            checked=True,
            value=self.stated.get("value"),
            payout=self.stated.get("payout", self.fixed_payout),
            report=report if self.kind == "update" or self.has_window else None,
        )


@st.composite
def sent_of(draw: st.DrawFn, key: str, first_number: int) -> list[Sent]:
    """Draw what is sent of one conversion. `of click` is one without a configuration."""
    click = CLICKS[len(key) % 3]
    is_fixed = key != OF_CLICK and draw(st.booleans())
    has_window = draw(st.booleans())
    made: list[Sent] = []
    for number in range(first_number, first_number + draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(("update", "update", "correction")))
        if number == first_number:
            kind = draw(st.sampled_from(("first", "update")))
        fields = {
            "reported": st.sampled_from(("approved", "pending", "rejected", "refunded")),
            "value": st.sampled_from(MONEY[1:]),
            "currency": st.sampled_from((HOME, "USD")),
        }
        if kind == "correction":
            money = dict.fromkeys(("value", "payout", "refunded_value"), st.sampled_from(MONEY))
            fields = {"reported": fields["reported"], **money}
        elif kind == "first":
            fields = {"value": fields["value"]}
        stated = draw(st.fixed_dictionaries({}, optional=fields))
        if kind != "correction" and key != OF_CLICK and not is_fixed and "value" in stated:
            stated["payout"] = str(Decimal(stated["value"]) / 2)
        recorded_at = draw(st.integers(10, 13)) if made else 10
        recorded_at += 4 * (kind == "correction")
        made.append(
            Sent(
                key,
                number,
                recorded_at if kind != "update" else draw(st.sampled_from((1, 5, recorded_at, 60))),
                recorded_at,
                stated,
                kind,
                click if key == OF_CLICK or draw(st.booleans()) else None,
                key != OF_CLICK or draw(st.booleans()),
                "2" if is_fixed and kind != "correction" else None,
                has_window,
            )
        )
    return made


History = tuple[list[Sent], list[int], list[list[Any]]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw what is sent, the clicks that come, and the batches: parts of both, some repeated."""
    sent = [one for at, key in enumerate(KEYS) for one in draw(sent_of(key, 100 * at + 1))]
    needed = [CLICKS.index(one.click) for one in sent if one.click and not one.knows_account]
    clicks = sorted({*draw(st.sets(st.integers(0, 2))), *needed})
    all_of_it: list[Any] = [*sent, *clicks]
    again = draw(st.lists(st.sampled_from(all_of_it), max_size=4))
    order = draw(st.permutations([*all_of_it, *again]))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=6)))
    parts = [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    return sent, clicks, parts


def click_document(number: int) -> dict[str, Any]:
    ids = {"_id": CLICKS[number], "account_id": ACCOUNT, "link_id": bytes([number]) * 16}
    return make_click_document(**ids, at=moment(AT_MS))


def conversion_of(sent: Sequence[Sent], clicks: Sequence[bytes | None]) -> dict[str, Any]:
    """Return what the records of one conversion make of it, whatever their order."""
    in_order = sorted(sent, key=lambda one: one.stamp)
    found: dict[str, Any] = {}
    for one in reversed(in_order):
        found["payout"] = one.fixed_payout or found.get("payout")
    for one in in_order:
        found |= one.stated
    reports = [one for one in sent if one.kind != "correction"]
    at = min(one.at for one in reports)
    named = next((one.click for one in reports if one.click), None)
    status = "no_click" if named is None else "pending"
    if named in clicks:
        status = "attributed"
        if reports[0].has_window:
            status = "too_fast" if at < MIN_MS else "late" if at > MAX_MS else "attributed"
    currency = found.get("currency") or HOME
    money = {name: _number(found.get(name)) for name in ("value", "payout", "refunded_value")}
    return {
        "status": status,
        "at": at,
        "reported": found.get("reported") or "approved",
        "currency": currency,
        **money,
    }


def counted(one: dict[str, Any]) -> Counter[str]:
    """Return what a conversion counts for."""
    value, payout, refunded = (one[name] or 0 for name in ("value", "payout", "refunded_value"))
    status, is_approved = one["reported"], one["reported"] == "approved"
    found = Counter({"conversions" if is_approved else f"{status}_conversions": Decimal(1)})
    if one["currency"] != HOME:
        found["other_conversions"] += 1
        if is_approved:
            found.update(other_value=value - refunded, other_payout=payout)
    elif is_approved:
        found.update(value=value - refunded, payout=payout, refunded_value=refunded)
    elif status == "pending":
        found.update(pending_value=value)
    elif status == "refunded":
        found.update(refunded_value=value if one["refunded_value"] is None else refunded)
    return found


def expected_of(sent: Sequence[Sent], clicks: Iterable[int]) -> dict[str, dict[str, Any]]:
    """Return each conversion by its key."""
    ids = [CLICKS[one] for one in clicks]
    return {key: conversion_of([one for one in sent if one.key == key], ids) for key in KEYS}


def shown(event: Any) -> dict[str, Any]:
    """Return a stored conversion as `conversion_of` does."""
    money = ("value", "payout", "refunded_value")
    return {
        "status": event["status"],
        "at": round((event["at"] - moment(AT_MS)).total_seconds() * 1000),
        "reported": event.get("reported", "approved"),
        "currency": event.get("currency", HOME),
        **{name: event.get(name) and event[name].to_decimal() for name in money},
    }


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
