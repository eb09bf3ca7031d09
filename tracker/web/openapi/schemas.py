"""JSON Schemas of the types in the endpoint table. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import msgspec

from tracker.web.endpoint import Endpoint, MediaType
from tracker.web.export import INTERNAL
from tracker.web.openapi_parts import OpenApiPart, query

_REF = "#/components/schemas/"

_NOUNS = {
    "Column": "CsvColumn",
    "Disabled": "WebhookDisabledReason",
    "Done": "Success",
    "Filter": "WebhookFilter",
    "Having": "FigureConditions",
    "Kind": "DeliveryKind",
    "Meaning": "StatusMeaning",
    "OnRepeat": "RepeatPolicy",
    "Preset": "WebhookPreset",
    "Role": "MemberRole",
    "Rule": "ConversionRule",
    "Status": "ConversionStatus",
}
"""The names of types whose own names need their room to be understood."""


class Schemas:
    """The JSON Schemas of the queries, bodies and answers of endpoints.

    `shared` holds the schemas of bodies and answers, by the name in references to them.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        queries = {endpoint.query for endpoint in endpoints}
        answers = {kind for endpoint in endpoints for kind in _answers(endpoint)}
        sent = [kind for one in endpoints for kind in (one.query, one.body, *_answers(one))]
        kinds = list(dict.fromkeys(sent))
        found, components = msgspec.json.schema_components(kinds, ref_template=_REF + "{name}")
        schemas = dict(zip(kinds, found, strict=True))
        bodies = {_name(schemas[endpoint.body]) for endpoint in endpoints}
        names = {name: _noun(one, name in bodies) for name, one in components.items()}
        assert len(set(names.values())) == len(names), "two types have one name"
        tidy = [_tidy(schema, names) for schema in found]
        self._by_type: dict[Any, OpenApiPart] = dict(zip(kinds, tidy, strict=True))
        self._components = {
            name: {"title": name, **_tidy(components[own], names)} for own, name in names.items()
        }
        for name in {name for kind in answers for name in self._names(self._by_type[kind])}:
            _mark_required(self._components[name])
        for component in self._components.values():
            _describe_defaults(component)
            _drop_internal(component)
        of_queries = {_name(self._by_type[kind]) for kind in queries}
        self.shared = {n: one for n, one in self._components.items() if n not in of_queries}

    def schema(self, kind: Any) -> OpenApiPart:
        return self._by_type[kind]

    def answer(self, endpoint: Endpoint) -> OpenApiPart:
        schemas = [self._by_type[kind] for kind in _answers(endpoint)]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def properties(self, kind: Any) -> dict[str, OpenApiPart]:
        """Return the schemas of a struct's fields, by their names in JSON."""
        component = self._components[_name(self._by_type[kind])]
        properties: dict[str, OpenApiPart] = component["properties"]
        return properties

    def query(self, kind: Any) -> list[OpenApiPart]:
        """Describe the parameters of a query. None of them is nullable."""
        component = self._components[_name(self._by_type[kind])]
        required = component["required"]
        parameters: list[OpenApiPart] = []
        for name, schema in self.properties(kind).items():
            schema = dict(schema)
            if isinstance(schema.get("type"), list):
                schema["type"] = schema["type"][0]
            description = schema.pop("description", "")
            parameter = {"name": name, "in": "query", "required": name in required}
            about = {"description": description} if description else {}
            parameters.append(parameter | about | {"schema": schema})
        if isinstance(further := component.get("additionalProperties"), dict):
            # An object in a query is a parameter for each of its members.
            schema = {"type": "object", "additionalProperties": further["anyOf"][0]}
            parameters.append(query("others", schema, further["description"]))
        return parameters

    def _names(self, schema: Any) -> Iterator[str]:
        """Yield the names of all schemas that `schema` refers to, directly or through others."""
        if isinstance(schema, list):
            for one in schema:
                yield from self._names(one)
        elif isinstance(schema, dict):
            if "$ref" in schema:
                yield _name(schema)
                yield from self._names(self._components[_name(schema)])
            yield from self._names(list(schema.values()))


def _answers(endpoint: Endpoint) -> tuple[Any, ...]:
    return () if isinstance(endpoint.answer, MediaType) else endpoint.answer


def _name(schema: OpenApiPart) -> str:
    return str(schema["$ref"]).removeprefix(_REF)


def _noun(schema: OpenApiPart, is_body: bool) -> str:
    """Return a type's name: ShortLinkPage for Page[ShortLink], CreateTagRequest for a body."""
    name = re.sub(r"(\w+)\[(\w+)\]", r"\2\1", schema.pop("title"))
    return f"{name}Request" if is_body else _NOUNS.get(name, name)


def _tidy(schema: Any, names: Mapping[str, str]) -> Any:
    """Return `schema` in its shortest form, with decimals as numbers."""
    if isinstance(schema, list):
        return [_tidy(one, names) for one in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {name: _tidy(one, names) for name, one in schema.items()}
    if "$ref" in tidy:
        tidy["$ref"] = _REF + names[_name(schema)]
    if tidy.get("format") == "decimal":
        del tidy["format"]
        tidy["type"] = "number"
    if isinstance(tidy.get("description"), str):
        tidy["description"] = cleandoc(tidy["description"])
    if tidy.get("type") == "object" and "properties" not in tidy:
        # A generated client in TypeScript takes an object without it for an empty one.
        tidy.setdefault("additionalProperties", True)
    if "anyOf" in tidy:
        _flatten(tidy)
    if tidy.get("default", ...) is None:
        del tidy["default"]
    return _nullable(tidy)


def _flatten(union: OpenApiPart) -> None:
    """Replace each union in a union by its kinds: generated clients number the kinds of each."""
    kinds = []
    for kind in union["anyOf"]:
        if "anyOf" in kind and kind.keys() <= {"anyOf", "description", "type"}:
            kinds += kind["anyOf"]
            union.setdefault("description", kind.get("description", ""))
        else:
            kinds.append(kind)
    union["anyOf"] = kinds


def _nullable(schema: OpenApiPart) -> OpenApiPart:
    """Return `schema` with a list of types instead of `anyOf` one type and null."""
    kinds = schema.get("anyOf", [])
    inner = [one for one in kinds if one != {"type": "null"}]
    if len(inner) != 1 or len(kinds) != 2 or not isinstance(inner[0].get("type"), str):
        return schema
    about = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**inner[0], **about, "type": [inner[0]["type"], "null"]}


def _drop_internal(schema: OpenApiPart) -> None:
    properties = schema.get("properties", {})
    for name in [name for name, one in properties.items() if one.get(INTERNAL)]:
        dropped = properties.pop(name)
        if name.endswith(":"):  # of all fields that begin with it (`web/parameters`)
            schema["additionalProperties"] = dropped["additionalProperties"]


def _describe_defaults(schema: OpenApiPart) -> None:
    """Move the defaults of properties into their descriptions: client generators misuse them."""
    for one in schema.get("properties", {}).values():
        # An empty filter or list changes nothing, so there is nothing to say.
        if (default := one.pop("default", ())) not in ((), [], "", {}):
            text = default if isinstance(default, str) else msgspec.json.encode(default).decode()
            about = [one["description"]] if "description" in one else []
            one["description"] = "; ".join([*about, f"{text} if not given"])


def _mark_required(schema: OpenApiPart) -> None:
    """Mark the properties with a default as required, because answers always have them."""
    if "properties" not in schema:
        return
    required = set(schema["required"])
    for name, one in schema["properties"].items():
        if "default" in one:
            del one["default"]
            required.add(name)
    schema["required"] = [name for name in schema["properties"] if name in required]
