"""Every macro has its value, and nothing of another account gets into a payload."""

import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pytest
from bson import Decimal128
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import Document, make_click_document, make_event_document
from tracker.conversions.corrections.status import click_key
from tracker.conversions.document import attribute
from tracker.visitor_dimensions import NAMES
from tracker.webhooks.macros import AD_MACROS, ENCODER, MACROS
from tracker.webhooks.payloads.payload import render
from tracker.webhooks.payloads.template import DEFAULT
from tracker.webhooks.payloads.values import MacroValues, values_of
from tracker.webhooks.store import template_text

ACCOUNT, OTHER, CLICK, LINK, CONFIG = (UUID(int=number) for number in range(1, 6))
HOST = "go.example"

CLICK_ROW = make_click_document(
    _id=CLICK,
    account_id=ACCOUNT,
    link_id=LINK,
    at=datetime(2026, 1, 31, 9, 30, 0, 5000, tzinfo=UTC),
    browser="Firefox",
    referrer="https://news.example/gr\u00c3\u00b6\u00c3\u009fe",
    user_agent="x",
    parameter_2="sub1=a=b ü",
    query="s=demo&utm_source=news+letter&a=1&a=2&empty=&gr%C3%B6%C3%9Fe=%c3%bc&x=\u00c3\u00bc",
)
PENDING = make_event_document(
    42,
    at=datetime(2026, 1, 31, 10, tzinfo=UTC),
    account_id=ACCOUNT,
    event_config_id=CONFIG,
    click_id=CLICK,
    value=Decimal128("12.50"),
    payout=Decimal128("1.250"),
    metadata='{"plan":"pro","price":1.10,"big":18446744073709551617,"o":{"a.b":[1]}}',
    status="pending",
    transaction_scope=CONFIG,
    transaction_id="T-1",
)
EVENT: Document = {**PENDING, **attribute(cast(Any, PENDING), cast(Any, CLICK_ROW))}
LINK_ROW: Document = {
    "_id": LINK,
    "account_id": ACCOUNT,
    "internal_name": "Spring \u00fc",
    "slug": "demo",
    "destination_url": "https://shop.example/?a={click_id}",
    "domain_name": "",
    "tags": [],
}
CONFIG_ROW: Document = {
    "_id": CONFIG,
    "account_id": ACCOUNT,
    "name": "Purchase",
    "pbk": "k-1",
    "payout_type": "RevShare",
    "payout": Decimal128("10"),
}
ALL = {
    "event_id": 42,
    "click_id": str(CLICK),
    "value": Decimal("12.50"),
    "payout": Decimal("1.250"),
    "payout_type": "RevShare",
    "conversion_timestamp": "2026-01-31T10:00:00.000Z",
    "conversion_timestamp_unix": 1_769_853_600,
    "click_timestamp": "2026-01-31T09:30:00.005Z",
    "click_timestamp_unix": 1_769_851_800,
    "event_name": "Purchase",
    "pbk": "k-1",
    "transaction_id": "T-1",
    "status": "approved",
    "currency": None,
    **dict.fromkeys(("refunded_value", "reason")),
    **dict.fromkeys(("previous_status", "previous_value", "previous_payout")),
    "account_id": str(ACCOUNT),
    "link_id": str(LINK),
    "slug": "demo",
    "internal_name": "Spring \u00fc",
    "domain_name": HOST,
    "destination_url": "https://shop.example/?a={click_id}",
    "tags": ["b", "a"],
    **{name: CLICK_ROW[name] for name in NAMES},
    "referrer": "https://news.example/gr\u00f6\u00dfe",
    "metadata": {
        "plan": "pro",
        "price": Decimal("1.10"),
        "big": 18446744073709551617,
        "o": {"a.b": [1]},
    },
}


def values(
    event: Document = EVENT,
    click: Document | None = CLICK_ROW,
    link: Document | None = LINK_ROW,
    config: Document | None = CONFIG_ROW,
) -> MacroValues:
    return values_of(event, click, link, config, ["b", "a"], HOST)


def all_of(found: MacroValues) -> dict[str, Any]:
    assert found.fields.keys() == MACROS.keys() | AD_MACROS.keys()
    return {name: found.get(name) for name in ALL}


def test_every_macro_has_its_value_digit_by_digit() -> None:
    assert all_of(values()) == ALL
    payload = json.loads(render(template_text(DEFAULT), values()), parse_float=Decimal)
    assert {name: payload[name] for name in ALL} == ALL


@pytest.mark.parametrize(
    ("macro", "value"),
    [
        ("metadata.plan", "pro"),
        ("metadata.price", Decimal("1.10")),
        ("metadata.o", {"a.b": [1]}),
        *((f"metadata.{key}", None) for key in ("none", "o.a.b", "")),
        ("query.s", "demo"),
        ("query.utm_source", "news letter"),
        ("query.a", "1"),
        ("query.empty", ""),
        ("query.größe", "ü"),
        ("query.x", "ü"),
        ("parameter:sub1", "a=b ü"),
        ("parameter:sub1|upper", "A=B Ü"),
        ("parameter:sub", None),
        *((macro, None) for macro in ("query.none", "query.", "other.x", "none")),
    ],
)
def test_a_key_of_the_metadata_and_a_parameter_of_the_query_or_the_account_are_found(
    macro: str, value: Any
) -> None:
    assert values().get(macro) == value


def test_ad_platforms_have_their_values_and_forms() -> None:
    ids = {"fbclid": "Fb-1", "gclid": "G-1"}
    click = {**CLICK_ROW, "ad_ids": ids, "address": "192.0.2.1", "consent": "denied"}
    event = {
        **EVENT,
        "refunded_value": Decimal128("2.50"),
        "metadata": '{"email":" Ann@Example.com ","phone":"+49 (30) 12","blank":" ","none":[],'
        '"hash":"' + "a" * 64 + '"}',
    }
    found = values(event, click)
    for macro, value in {
        "gclid": "G-1",
        "gbraid": None,
        "fbc": "fb.1.1769851800005.Fb-1",
        "click_address": "192.0.2.1",
        "click_user_agent": "x",
        "dedup_id": "T-1",
        "net_value": Decimal("10.00"),
        "consent": "denied",
        "consent|google": "CONSENT_DENIED",
        "consent|microsoft": "D",
        "destination_url|page": "https://shop.example/",
        "metadata.email|sha256": hashlib.sha256(b"ann@example.com").hexdigest(),
        "metadata.phone|digits": "493012",
        "metadata.phone|phone|sha256|list": [hashlib.sha256(b"+493012").hexdigest()],
        "metadata.hash|sha256": "a" * 64,
        "tags|list": ["b", "a"],
        **dict.fromkeys(f"metadata.{name}|sha256|list" for name in ("blank", "other")),
        "metadata.email|phone|list": None,
        "metadata.none|lower|lower|lower|lower|lower": None,
        "tags|google": None,
    }.items():
        assert found.get(macro) == value, macro
    assert values({**event, "consent": "granted"}, click).get("consent") == "granted"
    bare = values({**EVENT, "transaction_id": click_key(CLICK)}, click=None)
    assert bare.get("dedup_id") == "42"
    assert [bare.get(name) for name in ("fbc", "click_address", "consent", "gclid")] == [None] * 4


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
FORMS = ("lower", "text", "digits", "phone", "page", "sha256", "list", "google")


@given(WILD, st.lists(st.sampled_from(FORMS), max_size=6))
def test_forms_take_any_value_in_any_order(value: Any, forms: list[str]) -> None:
    found = MacroValues(fields={"consent": "granted"}, metadata={"key": value}, query={})
    for name in ("consent", "metadata.key"):
        ENCODER.encode(found.get("|".join([name, *forms])))


def test_a_change_has_values_of_now_and_before() -> None:
    told = {
        "reported": "refunded",
        "currency": "EUR",
        "refunded_value": Decimal128("12.50"),
        "previous": {"value": Decimal128("13")},
        "reason": "fraud",
    }
    assert all_of(values({**EVENT, **told})) == {
        **ALL,
        "status": "refunded",
        "currency": "EUR",
        "refunded_value": Decimal("12.50"),
        "previous_status": "approved",
        "previous_value": Decimal(13),
        "reason": "fraud",
    }


def test_what_stands_for_a_transaction_id_is_not_shown() -> None:
    assert values({**EVENT, "transaction_id": click_key(CLICK)}).get("transaction_id") is None


def test_an_unknown_value_is_null() -> None:
    nothing = dict.fromkeys(ALL)
    bare = {
        **PENDING,
        **dict.fromkeys(["click_id", "event_config_id", "value", "payout", "metadata"]),
    }
    del bare["transaction_id"]
    found = values_of(bare, None, None, None, [], HOST)
    names = (
        "event_id",
        "status",
        "conversion_timestamp",
        "conversion_timestamp_unix",
        "account_id",
    )
    assert all_of(found) == {**nothing, **{name: ALL[name] for name in names}}
    assert found.get("metadata.plan") is None
    assert found.get("query.s") is None


def test_without_its_click_an_event_has_its_values_and_a_pending_one_only_its_id() -> None:
    found = all_of(values(PENDING, click=None, link=None))
    of_click = ("click_timestamp", "click_timestamp_unix", "link_id", "domain_name", "referrer")
    of_link = ("slug", "internal_name", "destination_url", "tags")
    assert all_of(values(click=None)) == {**ALL, "referrer": None}
    assert found == {**ALL, **dict.fromkeys([*of_click, *NAMES, *of_link])}


def test_a_domain_is_shown_no_referrer_is_null_and_no_tags_are_an_empty_list() -> None:
    click = {**CLICK_ROW, "referrer": "", "domain_name": "a.example"}
    found = values_of(EVENT, click, LINK_ROW, None, [], HOST)
    assert found.get("domain_name") == "a.example"
    assert found.get("referrer") is None
    assert found.get("tags") == []


def test_nothing_of_another_account_gets_in() -> None:
    click, link, config = (
        {**row, "account_id": OTHER} for row in (CLICK_ROW, LINK_ROW, CONFIG_ROW)
    )
    foreign = {**PENDING, "status": "foreign_click"}
    found = values(foreign, click, link, config)
    assert found == values(foreign, None, None, None)
    assert found.get("click_id") == str(CLICK)
    assert found.query == {}
