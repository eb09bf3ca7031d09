"""Examples of answers, derived from their JSON Schemas. Pure.

A value is the schema's own example, else one of its type, format and bounds.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from tracker.ids import EXAMPLE_ID
from tracker.web.export import MEDIA_TYPES, FileFormat
from tracker.web.export_rows import NDJSON, RowEncoder, csv_encoder
from tracker.web.openapi_parts import OpenApiPart

_URL: Final = "https://shop.example/spring"
_FORMATS: Final = {
    "uuid": EXAMPLE_ID,
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:30:00.000Z",
    "uri": _URL,
}
_NAMED: Final[Mapping[str, Any]] = {
    "code": 200,
    "country": "DE",
    "currency": "EUR",
    "name": "Spring",
    "page": 1,
    "pageSize": 25,
    "slug": "spring",
    "totalPages": 1,
    "totalRows": 1,
}
"""The values of fields whose schema tells no more than a type."""

_NUMBERS: Final = ("integer", "number")


_IMAGES: Final = ("image/gif", "image/png", "image/svg+xml")


class Examples:
    """Makes examples of schemas that refer to `components`, by name."""

    def __init__(self, components: Mapping[str, OpenApiPart]) -> None:
        self._components = components

    def of(self, schema: OpenApiPart, name: str = "") -> Any:
        """Return an example for a field with this name. Of optional fields it has the numbers."""
        if "$ref" in schema:
            return self.of(self._components[schema["$ref"].rpartition("/")[2]], name)
        for told in ("examples", "enum"):
            if told in schema:
                return schema[told][0]
        if "const" in schema:
            return schema["const"]
        if "anyOf" in schema:
            return self.of(next(one for one in schema["anyOf"] if one != {"type": "null"}), name)
        kind = schema.get("type", "null")
        make = _MAKERS.get(kind if isinstance(kind, str) else kind[0])
        return make and make(self, schema, name)

    def added_to(self, answers: OpenApiPart) -> OpenApiPart:
        """Return the answers of an operation, with an example of each that has none."""
        return {status: self._with_examples(one) for status, one in answers.items()}

    def _with_examples(self, answer: OpenApiPart) -> OpenApiPart:
        content = {
            kind: one
            if "example" in one or kind in _IMAGES
            else {**one, "example": self.of(one["schema"])}
            for kind, one in answer.get("content", {}).items()
        }
        return {**answer, "content": content} if content else answer

    def _object(self, schema: OpenApiPart, _: str) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        return {
            name: self.of(one, name)
            for name, one in properties.items()
            if name in required or one.get("type") in _NUMBERS
        }

    def _array(self, schema: OpenApiPart, name: str) -> list[Any]:
        one = self.of(schema.get("items", {}), name.removesuffix("s"))
        return [] if one is None else [one] * schema.get("minItems", 1)


def _text(_: Examples, schema: OpenApiPart, name: str) -> str:
    if "format" in schema:
        return str(_FORMATS.get(schema["format"], "1"))
    text = str(_NAMED.get(name, "")) or (_URL if name.endswith("url") else name or "text")
    return text.ljust(schema.get("minLength", 0), "a")[: schema.get("maxLength")]


def _number(_: Examples, schema: OpenApiPart, name: str) -> Any:
    value = _NAMED.get(name, 1)
    return max(min(value, schema.get("maximum", value)), schema.get("minimum", value))


_MAKERS: Final[Mapping[str, Callable[[Examples, OpenApiPart, str], Any]]] = {
    "object": Examples._object,
    "array": Examples._array,
    "string": _text,
    **dict.fromkeys(_NUMBERS, _number),
    "boolean": lambda *_: True,
}


def file_examples(record: type[msgspec.Struct]) -> dict[str, str]:
    """Return a file of one row, by media type."""
    [schema], components = msgspec.json.schema_components([record])
    row = msgspec.convert(Examples(components).of(schema), record, strict=False)
    encoders: Mapping[FileFormat, RowEncoder] = {"csv": csv_encoder(record, None), "ndjson": NDJSON}
    return {
        MEDIA_TYPES[name]: (one.head + one.encode([row])).decode() for name, one in encoders.items()
    }
