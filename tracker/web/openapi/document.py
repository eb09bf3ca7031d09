"""The OpenAPI 3.1 document, built from the endpoint table. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracker import __version__
from tracker.ids import MAX_EVENT_ID
from tracker.web.call import Nothing
from tracker.web.endpoint import (
    EVENT_ID,
    TEXT_IDS,
    Endpoint,
    Errors,
    HandledEndpoint,
    MediaType,
    Personal,
    Public,
)
from tracker.web.export import FILE_FORMAT_TEXT, MEDIA_TYPES, PAGING
from tracker.web.limits import MAX_SIGN_IN_BYTES, MAX_TEXT_CHARACTERS
from tracker.web.openapi.examples import Examples, file_examples
from tracker.web.openapi.schemas import Schemas
from tracker.web.openapi_parts import (
    API_KEY,
    BINARY,
    ENTITY_TAG,
    ERRORS,
    FILE_NAME,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    IS_REPLAYED,
    RATE_LIMIT,
    REQUEST_ID,
    SESSION,
    TEXT,
    OpenApiPart,
    components,
    error,
    json_content,
    public_error,
    query,
)
from tracker.web.schema import EXAMPLE_ACCOUNT

_DESCRIPTION = """\
Short tracking links, their clicks and conversions, reports and webhooks.

Operations that need an API key take it as `Authorization: Bearer <API_KEY>`. A key belongs to one
account and has all scopes or some. Requests are limited for each IP address and for each account;
the `X-RateLimit-*` headers show the limit with fewer requests left. Pages of the console send a
session's cookie instead, with the scopes of the person's role and a limit of its own.

`accountId` and `account_id` are two spellings of one field: both are accepted everywhere, in bodies
and in queries. Every error has the body `{"error": "<message>"}`, which names the field and the
rule, and the header `X-Error-Code`, for programs; with `bad_request` also `X-Error-Reason`, and
`X-Error-Field` where one field is at fault.

HEAD is answered wherever GET is, with the same headers, but for `/api/event`, whose GET records.
"""


_FORMAT = query("format", {"type": "string", "enum": list(MEDIA_TYPES)}, FILE_FORMAT_TEXT)

_PUBLIC_ERRORS: Errors = {
    400: ("", "Content-Type: must be application/json"),
    403: (
        "The request comes from a page of another origin.",
        "session: accepted only from pages of this service",
    ),
    413: ("", f"body: at most {MAX_SIGN_IN_BYTES} bytes"),
    429: ("", ""),
    500: ("", ""),
    503: ("", ""),
}
"""The errors of public endpoints; empty texts default to the status's."""


_FIGURES = ("delays", "statistics")
"""Plurals that are one object."""


def document(
    endpoints: Sequence[Endpoint | HandledEndpoint],
    base_url: str,
    tags: Mapping[str, str],
    handled_schemas: Mapping[str, OpenApiPart],
    webhooks: Mapping[str, OpenApiPart],
) -> dict[str, Any]:
    """Return the document for the service at `base_url`, as JSON values.

    `tags` describes each tag. Rows of HandledEndpoint refer to `handled_schemas`. `webhooks` are
    the requests that the service sends.
    """
    schemas = Schemas([one for one in endpoints if isinstance(one, Endpoint)])
    paths: dict[str, dict[str, OpenApiPart]] = {}
    for one in endpoints:
        if isinstance(one, Endpoint):
            paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
        elif one.in_production:
            paths.setdefault(one.path, {})[one.method.lower()] = _handled_operation(one)
    operations = [operation for item in paths.values() for operation in item.values()]
    examples = Examples({**schemas.shared, **handled_schemas})
    for operation in operations:
        operation["responses"] = examples.added_to(operation["responses"])
    used = dict.fromkeys(tag for operation in operations for tag in operation["tags"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tracker",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
            "contact": {"name": "The operator of this service", "url": base_url},
        },
        "servers": [{"url": base_url, "description": "The public address (BASE_URL)."}],
        "tags": [{"name": tag, "description": tags[tag]} for tag in used],
        "paths": paths,
        "webhooks": webhooks,
        "components": components({**schemas.shared, **handled_schemas}),
    }


def _operation(endpoint: Endpoint, schemas: Schemas) -> OpenApiPart:
    operation: OpenApiPart = {
        "operationId": endpoint.operation_id or operation_id(endpoint.method, endpoint.path),
        "summary": endpoint.summary,
        "description": _access(endpoint),
        "tags": [endpoint.tag or endpoint.path.split("/")[2].replace("-", " ").capitalize()],
        "security": _security(endpoint),
        "parameters": [*map(_id, endpoint.id_names), *_query(endpoint, schemas)],
    }
    if endpoint.versioned and endpoint.method != "GET":
        operation["parameters"].append(IF_MATCH)
    if endpoint.idempotent:
        operation["parameters"].append(IDEMPOTENCY_KEY)
    if endpoint.body is not Nothing:
        content = json_content(schemas.schema(endpoint.body), _example(endpoint, schemas))
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.receive is not None:
        content = {"application/octet-stream": {"schema": BINARY}}
        operation["requestBody"] = {"required": True, "content": content}
    done = {
        "description": "Done.",
        "headers": _headers(endpoint),
        "content": _content(endpoint, schemas),
    }
    return operation | {"responses": {"200": done} | _errors(endpoint)}


def _security(endpoint: Endpoint) -> list[OpenApiPart]:
    if isinstance(endpoint.access, Public):
        return []
    is_personal = isinstance(endpoint.access, Personal)
    return [{SESSION: []}] if is_personal else [{API_KEY: []}, {SESSION: []}]


def _headers(endpoint: Endpoint) -> OpenApiPart:
    if isinstance(endpoint.access, Public):
        return REQUEST_ID
    tag = ENTITY_TAG if endpoint.versioned and endpoint.method != "DELETE" else {}
    tag |= IS_REPLAYED if endpoint.idempotent else {}
    return RATE_LIMIT | tag | (FILE_NAME if endpoint.is_file else {})


def _content(endpoint: Endpoint, schemas: Schemas) -> OpenApiPart:
    if endpoint.export is not None and endpoint.is_file:
        files = file_examples(endpoint.export.record)
        return {kind: {"schema": TEXT, "example": text} for kind, text in files.items()}
    if isinstance(endpoint.answer, MediaType):
        return {endpoint.answer.name: {"schema": endpoint.answer.schema}}
    return json_content(schemas.answer(endpoint))


def _query(endpoint: Endpoint, schemas: Schemas) -> list[OpenApiPart]:
    parameters = schemas.query(endpoint.query)
    if not endpoint.is_file or endpoint.body is not Nothing:
        return parameters
    left_out = (*PAGING, _FORMAT["name"])
    return [*(one for one in parameters if one["name"] not in left_out), _FORMAT]


def _handled_operation(endpoint: HandledEndpoint) -> OpenApiPart:
    operation: OpenApiPart = {
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "description": "Needs no API key.",
        "tags": [endpoint.tag],
        "security": [],
        "parameters": list(endpoint.parameters),
        "responses": {str(status): answer for status, answer in endpoint.answers.items()},
    }
    return operation | ({"requestBody": endpoint.body} if endpoint.body else {})


def operation_id(method: str, path: str) -> str:
    """Return the id of an operation: a verb and its nouns, such as `listShortLinks`.

    A POST to a path whose last word is no verb needs an id of its own.
    """
    nouns: list[str] = []
    for part in path.split("/")[2:]:
        if part.startswith("{"):
            nouns[-1] = _singular(nouns[-1])
        else:
            nouns.append(part)
    if nouns[-1] in ("export", "preview") or (method == "POST" and len(nouns) > 1):
        verb = nouns.pop()  # the path names the action
    elif method == "POST":
        verb, nouns = "create", [_singular(nouns[0])]
    else:
        is_list = nouns[-1].endswith("s") and nouns[-1] not in _FIGURES and path[-1] != "}"
        get = "list" if is_list else "get"
        verb = {"GET": get, "PATCH": "change", "DELETE": "delete"}[method]
    first, *words = "-".join([verb, *map(_singular, nouns[:-1]), *nouns[-1:]]).split("-")
    return first + "".join(map(str.capitalize, words))


def _singular(noun: str) -> str:
    return re.sub(r"ie$", "y", noun.removesuffix("s"))


def _access(endpoint: Endpoint) -> str:
    """Describe who has access. A function's docstring names the scopes that it returns."""
    needed = endpoint.access
    if isinstance(needed, Personal):
        return "For people who are signed in to the console."
    if isinstance(needed, Public):
        return "Needs no API key. For pages of the console only."
    named = f"`{needed}`" if isinstance(needed, str) else str(needed.__doc__).rstrip(".")
    access = f"Needs the scope {named}."
    if endpoint.export is None or endpoint.is_file:
        return access
    return (
        f"{access} With `format=csv` or `format=ndjson`, or such an `Accept`, it answers as "
        f"`{endpoint.path}/export` does."
    )


def _errors(endpoint: Endpoint) -> OpenApiPart:
    """Describe the errors that the endpoint can answer with, by status."""
    if isinstance(endpoint.access, Public):
        own = sorted({**_PUBLIC_ERRORS, **endpoint.access.errors}.items())
        return {str(status): public_error(status, *about) for status, about in own}
    never = set()
    if endpoint.body is Nothing and endpoint.receive is None:
        never.add(413)
    if not _names_object(endpoint):
        never.add(404)
    if not _names_version(endpoint):
        never.add(412)
    return {str(status): error(status) for status in ERRORS if status not in never}


def _names_version(endpoint: Endpoint) -> bool:
    is_change = endpoint.versioned and endpoint.method != "GET"
    return is_change or "revisions" in endpoint.body.__struct_fields__


def _names_object(endpoint: Endpoint) -> bool:
    """Return whether a request may name an object. Most ids in queries only filter."""
    in_query = "domain_id" in endpoint.query.__struct_fields__
    return bool(endpoint.id_names) or endpoint.body is not Nothing or in_query


def _id(name: str) -> OpenApiPart:
    event_id = {"type": "integer", "minimum": 1, "maximum": MAX_EVENT_ID}
    text = TEXT | {"minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
    schemas = {EVENT_ID: event_id, **dict.fromkeys(TEXT_IDS, text)}
    schema = schemas.get(name, TEXT | {"format": "uuid"})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _example(endpoint: Endpoint, schemas: Schemas) -> OpenApiPart:
    """Return the endpoint's example with an account, in the spelling of the body's field."""
    names = schemas.properties(endpoint.body)
    account = {name: EXAMPLE_ACCOUNT for name in ("accountId", "account_id") if name in names}
    return account | (endpoint.example or {})
