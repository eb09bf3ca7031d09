"""An event takes over the data of its click, unless that is of another account."""

from typing import Any

import pytest

from tracker.clicks.sources import FIELDS
from tracker.conversions.document import CLICK_FIELDS, DIMENSIONS, ConversionStatus, attribute

# The same in every process that collects these tests: they are part of the tests' names.
ACCOUNT, OTHER, CLICK, CONFIG = (letter * 16 for letter in (b"A", b"O", b"C", b"E"))
STORED: Any = {
    "_id": CLICK,
    "account_id": ACCOUNT,
    "at": "a moment",
    **{name: f"the {name}" for name in DIMENSIONS},
}


def event(
    account_id: bytes | None,
    scope: bytes | None = None,
    status: ConversionStatus = ConversionStatus.PENDING,
) -> Any:
    return {
        "account_id": account_id,
        "click_id": CLICK,
        "transaction_scope": scope,
        "status": status,
    }


@pytest.mark.parametrize("account_id", [None, ACCOUNT])
def test_an_event_takes_over_account_moment_and_dimensions(account_id: bytes | None) -> None:
    assert attribute(event(account_id), STORED) == {
        "status": ConversionStatus.ATTRIBUTED,
        "account_id": ACCOUNT,
        "click_at": "a moment",
        **{name: f"the {name}" for name in DIMENSIONS},
    }


def test_an_event_takes_over_the_sources_that_its_click_has() -> None:
    has = {"referrer_host": "t.co", "utm_term": "shoes"}
    click: Any = STORED | has
    fields = attribute(event(ACCOUNT), click)
    assert {name: one for name, one in fields.items() if name in FIELDS} == has
    assert not set(FIELDS) & attribute(event(OTHER), click).keys()


def test_the_fields_of_a_click_that_are_read_suffice() -> None:
    others = {"referrer": "r", "query": "q", "test": True}
    click: Any = STORED | dict.fromkeys(FIELDS, "a source") | others
    read: Any = {name: click[name] for name in CLICK_FIELDS}
    assert attribute(event(None, CLICK), read) == attribute(event(None, CLICK), click)


def test_a_click_of_another_account_gives_nothing_but_the_status() -> None:
    assert attribute(event(OTHER, CONFIG), STORED) == {"status": ConversionStatus.FOREIGN_CLICK}


@pytest.mark.parametrize("test", [{}, {"test": True}])
def test_a_test_stays_one_and_that_of_a_test_click_becomes_one(test: dict[str, bool]) -> None:
    click: Any = STORED | test
    expected = ConversionStatus.TEST if test else ConversionStatus.ATTRIBUTED
    assert attribute(event(ACCOUNT), click)["status"] == expected
    assert (
        attribute(event(ACCOUNT, status=ConversionStatus.TEST), click)["status"]
        == ConversionStatus.TEST
    )
    assert attribute(event(OTHER), click) == {"status": ConversionStatus.FOREIGN_CLICK}


def test_a_transaction_scoped_to_the_click_moves_to_the_account() -> None:
    assert attribute(event(None, CLICK), STORED)["transaction_scope"] == ACCOUNT


@pytest.mark.parametrize("scope", [None, CONFIG, ACCOUNT])
def test_a_transaction_of_another_scope_keeps_it(scope: bytes | None) -> None:
    assert "transaction_scope" not in attribute(event(ACCOUNT, scope), STORED)


@pytest.mark.parametrize("account_id", [None, ACCOUNT, OTHER])
def test_attribution_changes_neither_the_event_nor_the_click(account_id: bytes | None) -> None:
    before: Any = event(account_id, CLICK)
    click: Any = dict(STORED)
    attribute(before, click)
    assert (before, click) == (event(account_id, CLICK), STORED)
