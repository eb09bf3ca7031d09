"""The tools: endpoints of the table by names for models, each with the schema of its arguments."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.syntax.strict_json import parse_json
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoint
from tracker.web.openapi.schemas import Schemas

_ROWS: Final = {
    "get_account": ("GET /api/account", "The time zone of all days, the currency of all amounts."),
    "report": (
        "POST /api/reports",
        "Clicks, visitors, conversions and money of some days: a row for each value of groupBy, "
        "such as utm_campaign or link. Sort by profit to see first what lost money.",
    ),
    "list_report_values": ("GET /api/reports/values", "The values to filter reports by."),
    "list_links": ("GET /api/short-links", "Short links, all or those that are searched."),
    "get_link": ("GET /api/short-links/{id}", "A short link with all of its options."),
    "list_clicks": ("GET /api/clicks", "Single clicks, newest first. For sums take report."),
    "list_conversions": (
        "GET /api/conversions",
        "Single conversions, newest first. For sums take report.",
    ),
    "find": (
        "GET /api/find",
        "What became of a click, conversion or transaction, by its id; postbacks refused for it.",
    ),
    "explain_decision": (
        "POST /api/short-links/{id}/decide",
        "Where a visitor of a short link goes, and why: the rule that decides, and the condition "
        "of each other rule that fails. Nothing is recorded.",
    ),
    "create_link": ("POST /api/short-links", "Create a short link."),
    "change_link": ("PATCH /api/short-links/{id}", "Change a short link; what is left out stays."),
}
"""The endpoint of each tool, and what it tells or does."""

_ACCOUNT: Final = ("accountId", "account_id")
_NOT_FOR_MODELS: Final = ("format", "others")
_RULES: Final = ("rules", "split")
_WITHOUT: Final = dict.fromkeys(("create_link", "change_link"), _RULES) | {
    "explain_decision": ("destination_url", *_RULES)
}
"""The fields that tools lack. Rules have long schemas, and are for people who see them."""

_REFERENCE: Final = re.compile(r'"#/components/schemas/(\w+)"')
ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


class Tool(msgspec.Struct, dict=True):
    """An endpoint as a tool."""

    name: str
    endpoint: Endpoint
    about: str
    without: frozenset[str]

    @property
    def scope(self) -> str:
        return str(self.endpoint.access)

    @property
    def is_reading(self) -> bool:
        return self.scope.endswith(":read")

    def request(self, arguments: bytes, account_id: UUID) -> tuple[Sequence[str], str, bytes]:
        """Return the ids of the path, query and body of a call. Raises BadRequest."""
        given = parse_json("arguments", arguments)
        if not isinstance(given, dict):
            raise BadRequest("arguments: must be an object")
        for name in (*given.keys() & self.without, *({*self.endpoint.id_names} - given.keys())):
            raise BadRequest(f"{name}: {'unknown field' if name in given else 'required'}")
        path = [str(given.pop(name)) for name in self.endpoint.id_names]
        is_query = self.endpoint.body is Nothing
        kind = self.endpoint.query if is_query else self.endpoint.body
        if _ACCOUNT[0] in kind.__struct_encode_fields__ and not given.keys() & {*_ACCOUNT}:
            given[_ACCOUNT[0]] = str(account_id)
        if is_query:
            return path, urlencode(list(_parameters(given))), b""
        return path, "", ENCODER.encode(given)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The tool as `tools/list` has it. It is made at the first use."""
        hints = {"destructiveHint": self.endpoint.method == "PATCH", "openWorldHint": False}
        return {
            "name": self.name,
            "description": f"{self.about} Needs the scope {self.scope}.",
            "inputSchema": self._schema(Schemas([self.endpoint])),
            "annotations": {"readOnlyHint": self.is_reading, **hints},
        }

    def _schema(self, schemas: Schemas) -> Any:
        required = list(self.endpoint.id_names)
        properties: dict[str, Any] = {one: {"type": "string", "format": "uuid"} for one in required}
        for one in schemas.query(self.endpoint.query):
            properties[one["name"]] = {"description": one.get("description", ""), **one["schema"]}
            required += [one["name"]] if one["required"] else []
        for name in _names(schemas.schema(self.endpoint.body)) & schemas.shared.keys():
            properties |= schemas.shared[name]["properties"]
            required += schemas.shared[name].get("required", [])
        for name in (*_ACCOUNT, *self.without):
            properties.pop(name, None)
        inner: dict[str, Any] = {}
        while new := _names([properties, inner]) - inner.keys():
            inner |= {name: schemas.shared[name] for name in new}
        schema = {
            "type": "object",
            "properties": properties,
            "required": [name for name in required if name in properties],
            "additionalProperties": False,
            "$defs": inner,
        }
        text = msgspec.json.encode(schema).decode()
        return msgspec.json.decode(_REFERENCE.sub(r'"#/$defs/\1"', text))


def tools_of(endpoints: Sequence[Endpoint]) -> dict[str, Tool]:
    rows = {f"{one.method} {one.path}": one for one in endpoints}
    without = {name: frozenset({*_NOT_FOR_MODELS, *_WITHOUT.get(name, ())}) for name in _ROWS}
    return {n: Tool(n, rows[row], about, without[n]) for n, (row, about) in _ROWS.items()}


def _names(schema: Any) -> set[str]:
    """Return the names of the schemas that `schema` refers to."""
    return set(_REFERENCE.findall(msgspec.json.encode(schema).decode()))


def _parameters(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a query: a list is a repeated name, null is none."""
    for name, value in given.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict | list):
                raise BadRequest(f"{name}: must be text, a number, true or false, or a list")
            if one is not None:
                yield name, str(one).lower() if isinstance(one, bool) else str(one)
