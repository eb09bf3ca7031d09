"""The OpenAPI 3.1 document, built from the endpoint table. Pure.

`routes.description` calls it once. Endpoints that need a key are described by the types of their
queries, bodies and answers (`schemas`), public ones by their rows.
"""

import re
from collections.abc import Sequence
from typing import Any

from tracker import __version__
from tracker.api.endpoint import EVENT_ID, Endpoint, MediaType, Nothing, PublicEndpoint
from tracker.api.event_schema import EVENT_SCHEMAS
from tracker.api.export import MEDIA_TYPES
from tracker.api.join_schema import JOIN_SCHEMAS
from tracker.api.openapi.parts import (
    API_KEY,
    ERRORS,
    FILE_NAME,
    RATE_LIMIT,
    SESSION,
    TEXT,
    Described,
    components,
    error,
    json_content,
)
from tracker.api.openapi.schemas import Schemas
from tracker.api.schema import EXAMPLE_ACCOUNT
from tracker.api.shared_schema import SHARED_SCHEMAS
from tracker.ids import MAX_EVENT_ID

_DESCRIPTION = """\
Short tracking links, their clicks and conversions, reports and webhooks.

Operations that need an API key take it as `Authorization: Bearer <API_KEY>`. A key belongs to one
account and has all scopes or some. Requests are limited for each IP address and for each account;
the `X-RateLimit-*` headers show the limit with fewer requests left. Pages of the console send a
session's cookie instead, with the scopes of the person's role and a limit of its own.

`accountId` and `account_id` are two spellings of one field: both are accepted everywhere, in bodies
and in queries. Every error has the body `{"error": "<message>"}`, which names the field and the
rule, and the header `X-Error-Code`, for programs.
"""


_TAGS = {
    "Short links": "Links that are opened at `/c/{slug}`, and their destinations.",
    "Tags": "Labels of links, to filter lists and reports by.",
    "Domains": "Hostnames of the account that serve its links, proven by DNS.",
    "Event configs": "Kinds of conversions and what they pay; each has a postback key.",
    "Webhooks": "Receivers of conversions, and the deliveries to them.",
    "Account": "The account of the key, and its rules against forged conversions.",
    "Members": "The people of the account, and their roles.",
    "Invitations": "Links with which people join the account.",
    "Password resets": "Links with which members set a new password.",
    "Session": "Signing in to the console, and who is signed in.",
    "Audit": "What was changed in the account, by whom and when.",
    "Sessions": "The browsers in which a person is signed in.",
    "Keys": "The API keys of the account.",
    "Reports": "Sums of clicks, visitors, conversions and money.",
    "Shares": "Public links to reports.",
    "Views": "Reports that the account keeps by name.",
    "Clicks": "Opening short links: for visitors, without a key.",
    "Live": "Clicks and conversions as they land, as Server-Sent Events.",
    "Conversions": "Recording conversions, without a key, and the account's log of them.",
    "Operations": "Requests of operators, balancers and proxies; not for the public.",
}


def document(endpoints: Sequence[Endpoint | PublicEndpoint], base_url: str) -> dict[str, Any]:
    """Return the document for the service at `base_url`, as JSON values."""
    schemas = Schemas([one for one in endpoints if isinstance(one, Endpoint)])
    paths: dict[str, dict[str, Described]] = {}
    for one in endpoints:
        if isinstance(one, Endpoint):
            paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
        elif one.in_production:
            paths.setdefault(one.path, {})[one.method.lower()] = _public_operation(one)
    operations = [operation for item in paths.values() for operation in item.values()]
    tags = dict.fromkeys(tag for operation in operations for tag in operation["tags"])
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
        "tags": [{"name": tag, "description": _TAGS[tag]} for tag in tags],
        "paths": paths,
        "components": components(schemas.shared | EVENT_SCHEMAS | JOIN_SCHEMAS | SHARED_SCHEMAS),
    }


def _operation(endpoint: Endpoint, schemas: Schemas) -> Described:
    operation: Described = {
        "operationId": endpoint.operation_id or operation_id(endpoint.method, endpoint.path),
        "summary": endpoint.summary,
        "description": _access(endpoint),
        "tags": [_tag(endpoint.path)],
        "security": [{SESSION: []}] if endpoint.scope is None else [{API_KEY: []}, {SESSION: []}],
        "parameters": [*map(_id, endpoint.id_names), *schemas.query(endpoint.query)],
    }
    if endpoint.body is not Nothing:
        content = json_content(schemas.schema(endpoint.body), _example(endpoint, schemas))
        operation["requestBody"] = {"required": True, "content": content}
    done = {
        "description": "Done.",
        "headers": RATE_LIMIT | ({} if endpoint.export is None else FILE_NAME),
        "content": _content(endpoint, schemas),
    }
    errors = {str(status): error(status) for status in _errors(endpoint)}
    return operation | {"responses": {"200": done} | errors}


def _content(endpoint: Endpoint, schemas: Schemas) -> Described:
    if isinstance(endpoint.answer, MediaType):
        return {endpoint.answer.name: {"schema": endpoint.answer.schema}}
    files = (
        {} if endpoint.export is None else {one: {"schema": TEXT} for one in MEDIA_TYPES.values()}
    )
    return json_content(schemas.answer(endpoint)) | files


def _public_operation(endpoint: PublicEndpoint) -> Described:
    operation: Described = {
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
    """Return the id of an operation, such as `listShortLinks` or `verifyDomain`."""
    nouns: list[str] = []
    for part in path.split("/")[2:]:
        if part.startswith("{"):
            nouns[-1] = _singular(nouns[-1])
        else:
            nouns.append(part)
    if method == "POST" and len(nouns) > 1:  # the path names the action
        verb = nouns.pop()
    elif method == "POST":
        verb, nouns = "create", [_singular(nouns[0])]
    else:
        get = "get" if path.endswith("}") else "list"
        verb = {"GET": get, "PATCH": "change", "DELETE": "delete"}[method]
    first, *words = "-".join([verb, *nouns]).split("-")
    return first + "".join(map(str.capitalize, words))


def _singular(noun: str) -> str:
    return re.sub(r"ie$", "y", noun.removesuffix("s"))


def _tag(path: str) -> str:
    return path.split("/")[2].replace("-", " ").capitalize()


def _access(endpoint: Endpoint) -> str:
    """Return who has access. If the body decides, the docstring of the scope names both scopes."""
    scope = endpoint.scope
    if scope is None:
        return "For people who are signed in to the console."
    named = str(scope.__doc__).rstrip(".") if callable(scope) else f"`{scope}`"
    return f"Needs the scope {named}."


def _errors(endpoint: Endpoint) -> list[int]:
    """Return the error statuses that the endpoint can answer with."""
    never = set()
    if endpoint.body is Nothing:
        never.add(413)
    if not _names_object(endpoint):
        never.add(404)
    return [status for status in ERRORS if status not in never]


def _names_object(endpoint: Endpoint) -> bool:
    """Return whether a request may name an object. Most ids in queries only filter."""
    in_query = "domain_id" in endpoint.query.__struct_fields__
    return bool(endpoint.id_names) or endpoint.body is not Nothing or in_query


def _id(name: str) -> Described:
    event_id = {"type": "integer", "minimum": 1, "maximum": MAX_EVENT_ID}
    schema = event_id if name == EVENT_ID else {"type": "string", "format": "uuid"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _example(endpoint: Endpoint, schemas: Schemas) -> Described:
    """Return the endpoint's example with an account, in the spelling of the body's field."""
    names = schemas.properties(endpoint.body)
    account = {name: EXAMPLE_ACCOUNT for name in ("accountId", "account_id") if name in names}
    return account | (endpoint.example or {})
