"""What is wrong with a value is said in plain words, which name the field and the rule."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import orjson
import pytest
from msgspec import UNSET, Meta, UnsetType, inspect

from tracker.errors import BadRequest
from tracker.ids import EXAMPLE_ID
from tracker.service.api.routes import DECLARED_ENDPOINTS
from tracker.web.parameters import parse_body, parse_query

TIME = "a time with its zone such as 2026-01-31T09:30:00.000Z"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    size: Annotated[int, Meta(ge=1, le=9)]


class Every(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=2, max_length=3)] | UnsetType = UNSET
    text_or_null: str | None = None
    id: UUID | None = None
    own_id: UUID | UnsetType = UNSET
    at: Annotated[datetime, Meta(tz=True)] | UnsetType = UNSET
    ends: Annotated[datetime, Meta(tz=True)] | None = None
    count: Annotated[int, Meta(ge=1, le=9)] | UnsetType = UNSET
    ratio: float | UnsetType = UNSET
    money: Decimal | UnsetType = UNSET
    flag: bool = False
    colour: Colour | UnsetType = UNSET
    order: Literal["up", "down"] | None = None
    rows: Annotated[list[Inner], Meta(min_length=1, max_length=2)] | UnsetType = UNSET
    names: dict[str, str] | UnsetType = UNSET
    tags: tuple[str, ...] = ()
    raw: msgspec.Raw | UnsetType = UNSET
    picture: bytes | UnsetType = UNSET
    anything: Any = UNSET


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("text", 7, "text: must be text, got a whole number"),
        ("text", None, "text: must be text, got null"),
        ("picture", 7, "picture: must be base64, got a whole number"),
        ("picture", "***", "picture: must be base64"),
        ("text", "a", "text: must be text of at least 2 characters"),
        ("text", "abcd", "text: must be text of at most 3 characters"),
        ("text_or_null", ["a"], "text_or_null: must be text or null, got a list"),
        ("own_id", "7", f"own_id: must be a UUID such as {EXAMPLE_ID}"),
        ("own_id", None, f"own_id: must be a UUID such as {EXAMPLE_ID}, got null"),
        ("id", 7, f"id: must be a UUID such as {EXAMPLE_ID} or null, got a whole number"),
        ("at", "soon", f"at: must be {TIME}"),
        ("at", "2026-02-30T09:30:00Z", f"at: must be {TIME}"),
        ("at", "2026-01-31T09:30:00", f"at: must be {TIME}"),
        ("at", True, f"at: must be {TIME}, got true or false"),
        ("ends", "2026-01-31", f"ends: must be {TIME}"),
        ("ends", 1.5, f"ends: must be {TIME} or null, got a number"),
        ("count", "7", "count: must be a whole number, got text"),
        ("count", 1.5, "count: must be a whole number, got a number"),
        ("count", 0, "count: must be a whole number >= 1"),
        ("count", 10, "count: must be a whole number <= 9"),
        ("ratio", "half", "ratio: must be a number, got text"),
        ("money", "much", "money: must be a number"),
        ("money", None, "money: must be a number, got null"),
        ("flag", 1, "flag: must be true or false, got a whole number"),
        ("colour", "green", "colour: must be blue or red"),
        ("colour", 7, "colour: must be text, got a whole number"),
        ("order", "left", "order: must be down or up"),
        ("rows", {}, "rows: must be a list, got an object"),
        ("rows", [], "rows: must be a list of at least 1"),
        ("rows", [{"size": 1}] * 3, "rows: must be a list of at most 2"),
        ("rows", ["a"], "rows[0]: must be an object, got text"),
        ("rows", [{"size": 1}, {}], "rows[1].size: required"),
        ("rows", [{"size": 1, "colour": 1}], "rows[0].colour: unknown field"),
        ("rows", [{"size": 0}], "rows[0].size: must be a whole number >= 1"),
        ("tags", "a", "tags: must be a list, got text"),
        ("names", ["a"], "names: must be an object, got a list"),
        ("names", {"a": 1}, "names: must be text, got a whole number"),
    ],
)
def test_a_wrong_value_of_each_type_is_named_with_its_rule(
    field: str, value: Any, message: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_body(Every, orjson.dumps({field: value}))
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("own_id=7", f"own_id: must be a UUID such as {EXAMPLE_ID}"),
        ("at=soon", f"at: must be {TIME}"),
        ("count=many", "count: must be a whole number, got text"),
        ("count=0", "count: must be a whole number >= 1"),
        ("flag=maybe", "flag: must be true or false, got text"),
        ("colour=green", "colour: must be blue or red"),
    ],
)
def test_a_wrong_parameter_of_each_type_is_named_with_its_rule(query: str, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_query(Every, query)
    assert refused.value.message == message


def types_in(kind: Any) -> Iterator[type]:
    """Yield the types that values of `kind` may have, at any depth."""
    waiting, seen = [inspect.type_info(kind)], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, inspect.StructType):
            if one.cls in seen:
                continue
            seen.add(one.cls)
        if not isinstance(one, inspect.Metadata):
            yield type(one)
        inner = [getattr(one, name, None) for name in ("type", "item_type", "value_type")]
        inner += [*getattr(one, "types", ())]
        inner += [field.type for field in getattr(one, "fields", ())]
        inner += [*getattr(one, "item_types", ())]
        waiting += [each for each in inner if isinstance(each, inspect.Type)]


def test_the_types_of_every_request_are_among_those() -> None:
    shown = set(types_in(Every))
    for endpoint in DECLARED_ENDPOINTS:
        for kind in (endpoint.query, endpoint.body):
            assert set(types_in(kind)) <= shown, (endpoint.path, set(types_in(kind)) - shown)
