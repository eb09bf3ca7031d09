"""Fields of a request to record a conversion, unchecked: a query, a form or a JSON body. Pure.

A name that was damaged on its way, such as `amp;click_id`, is read or refused: ignored like an
unknown one, it would lose the click.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from tracker.errors import BadRequest
from tracker.syntax.strict_json import parse_json

_MAX_FIELDS: Final = 200

NAMES: Final = frozenset(("pbk", "click_id", "value", "metadata", "transaction_id", "txid"))

REPORTED: Final = frozenset(("status", "currency", "occurred_at", "consent"))
"""Further parameters. They are read after aliases, because older aliases have such names."""

TRANSACTION_IDS: Final = ("transaction_id", "txid")
TEXTS: Final = frozenset(("pbk", "click_id", *TRANSACTION_IDS))
"""Parameters that must be text in JSON.

Nobody has such names among parameters of their own, while `order[value]` may be anything.
"""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_JSON: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*[\"{])")
_NO_FORM: Final = re.compile(rb"\x1f\x8b|%7[Bb](?:%20|%0[AaDd9]|\+)*%22")
"""Beginnings of gzip, and of JSON that was encoded as if it were a parameter."""

_WORDS: Final = re.compile(r"[\w.$-]+")
_MAX_SHOWN_CHARACTERS: Final = 40

Fields = dict[str, Any]
"""The unchecked parameters of a request by name, without empty ones."""


class FormValue(str):
    """A value in a query or a form, where numbers and objects are text too."""

    __slots__ = ()


class QueryAndBody(NamedTuple):
    """The two values of an unknown parameter that is in the query and in the body."""

    query: Any
    body: Any


def fields_in_text(raw: bytes) -> Fields:
    """Return unchecked fields. Raises BadRequest if there are too many.

    Bytes that are not UTF-8 become surrogates, which the rules of each field reject.
    """
    try:
        pairs = _pairs(raw.decode(errors="surrogateescape"))
    except ValueError as error:
        raise BadRequest(f"parameters: {error}") from None
    return fields_of(pairs)


def fields_in_form(body: bytes) -> Fields:
    """Return unchecked fields of a form, or of JSON that was sent as one: the default of curl.

    Raises BadRequest for bytes that are neither.
    """
    if _JSON.match(body):
        return fields_in_json(body.removeprefix(_BYTE_ORDER_MARK))
    if _NO_FORM.match(body):
        raise BadRequest("body: must be a form, as its Content-Type says")
    return fields_in_text(body)


def fields_of(pairs: Iterable[tuple[str, str]]) -> Fields:
    """Return the fields of non-empty `pairs`. The first value of a repeated name counts."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name not in fields:
            fields[name] = value if name in TEXTS else FormValue(value)
    return fields


def fields_in_json(body: bytes) -> Fields:
    """Return unchecked fields. Raises BadRequest if `body` is no JSON object."""
    fields = parse_json("body", body)
    if not isinstance(fields, dict):
        raise BadRequest("body: must be a JSON object")
    return {name: value for name, value in fields.items() if value not in ("", None)}


def merged(query: Fields, body: Fields) -> Fields:
    """Return the fields of query and body. If both have a field, the body's value counts.

    Unknown names in both become QueryAndBody, because they may be aliases of the click. Raises
    BadRequest if query and body name two postback keys or two clicks.
    """
    for name in ("pbk", "click_id"):
        if name in query and name in body and not _is_same(name, query[name], body[name]):
            raise BadRequest(f"{name}: differs between the query and the body")
    replaced = TRANSACTION_IDS if not body.keys().isdisjoint(TRANSACTION_IDS) else ()
    others = {name: value for name, value in query.items() if name not in replaced}
    both = query.keys() & (body.keys() - NAMES)
    return others | body | {name: QueryAndBody(query[name], body[name]) for name in both}


def _is_same(name: str, one: Any, other: Any) -> bool:
    if name == "click_id" and isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return bool(one == other)


def with_repaired_names(fields: Fields, warnings: list[str]) -> Fields:
    """Rename `amp;value`, `[value]` or `value[]` to `value`.

    Raises BadRequest if a name can only be a damaged one of ours, and cannot be read or differs.
    """
    damaged = [name for name in fields if not name.isidentifier()]
    repaired = {name: value for name, value in fields.items() if name.isidentifier()}
    for name in damaged:
        own, is_whole = _own_name(name)
        value = _single(own, fields[name])
        if own in NAMES and (is_whole or own not in fields):
            shown = ascii(name)[:_MAX_SHOWN_CHARACTERS]
            damage = f"{own}: sent under the damaged name {shown}"
            if not is_whole:
                raise BadRequest(f"{damage}, which cannot be read")
            if not _is_same(own, repaired.setdefault(own, value), value):
                raise BadRequest(f"{damage} too, with another value")
            warnings.append(f"{damage}; it was read")
        elif own == name or own in fields or not is_whole:
            repaired[name] = value
        else:
            repaired[own] = value
    return repaired


def _own_name(name: str) -> tuple[str, bool]:
    """Return the name that was damaged, and whether nothing but marks is beside it."""
    words = [word for word in _WORDS.findall(name) if word != "amp" and not word.isdigit()]
    unmistakable = next((word for word in words if word in TEXTS), None)
    return unmistakable or (words[0] if words else name), len(words) == 1


def _single(name: str, value: Any) -> Any:
    """Return the value of a parameter of ours as if its name had not been damaged."""
    if name in NAMES and isinstance(value, QueryAndBody):
        value = value.body
    return str(value) if name in TEXTS and isinstance(value, FormValue) else value


def _pairs(text: str) -> Sequence[tuple[str, str]]:
    """Return the non-empty pairs. Raises ValueError if there are too many."""
    if "%" in text or "+" in text or text.count("&") >= _MAX_FIELDS:
        return list(_decoded_pairs(text))
    # Most texts need no decoding. Then this does the same, four times as fast.
    pairs = [pair.partition("=") for pair in text.split("&")]
    return [(name, value) for name, _, value in pairs if value]


def _decoded_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Decode pairs. One whose `=` was encoded too gets a name that ends in `=`."""
    for name, value in parse_qsl(
        text, keep_blank_values=True, errors="surrogateescape", max_num_fields=_MAX_FIELDS
    ):
        before, _, after = name.partition("=")
        if value:
            yield name, value
        elif after:
            yield f"{before}=", after
