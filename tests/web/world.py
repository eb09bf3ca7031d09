"""Two accounts with objects of every kind, and a valid request for every endpoint of the table."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

import msgspec
import orjson

from tests.factories import (
    create_cost,
    create_event_config,
    create_link,
    create_member,
    create_rule,
    create_share,
    create_view,
    create_webhook,
    make_event_document,
    make_split,
)
from tests.imports.lines import A_FILE, add_lines
from tests.web.client import Client, Response
from tests.web.document import DOCUMENT
from tests.web.keyed_client import KeyedClient
from tests.web.person import PersonClient, signed_in
from tracker.access.principal import Author
from tracker.access.roles import SCOPES_OF, Role
from tracker.accounts.accounts import Account
from tracker.alerts.api.alerts import EXAMPLE_WEBHOOK
from tracker.clock import now
from tracker.ids import new_id
from tracker.imports.store import Import, State
from tracker.links.api.rule_changes import EXAMPLE_VARIANT, EXAMPLE_VERSION
from tracker.links.api.short_link_schema import EXAMPLE_LINK
from tracker.service.services import Services
from tracker.uploads.store import Upload
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoint
from tracker.web.parameters import parse_body
from tracker.webhooks.creation import create_deliveries
from tracker.webhooks.delivery import delivery_id

SPELLINGS = ("accountId", "account_id")

Id = UUID | int
Maker = Callable[[Services, UUID], Awaitable[Id]]

_EVENT_IDS = count(10**9)


async def a_short_link(services: Services, account_id: UUID) -> UUID:
    return (await create_link(services, account_id, f"s-{account_id}")).id


async def a_link_with_a_split(services: Services, account_id: UUID) -> UUID:
    slug = f"s-{account_id}"
    return (await create_link(services, account_id, slug, split=make_split())).id


async def a_link_whose_rules_changed(services: Services, account_id: UUID) -> UUID:
    link_id = await a_link_with_a_split(services, account_id)
    await services.links.links.change(link_id, {"split": None})
    versions, known = services.stores.mongodb["rule_versions"], {"version": EXAMPLE_VERSION}
    await versions.update_one({"link_id": link_id}, {"$set": known})
    return link_id


async def a_tag(services: Services, account_id: UUID) -> UUID:
    return (await services.links.tags.create(account_id, "A tag")).id


async def a_domain(services: Services, account_id: UUID) -> UUID:
    """Create a verified domain, which needs no DNS query."""
    domain = await services.links.domains.create(account_id, f"a{account_id.hex[-8:]}.example")
    return (await services.links.domains.verify(domain.id)).id


async def an_event_config(services: Services, account_id: UUID) -> UUID:
    return (await create_event_config(services, account_id)).id


async def a_webhook(services: Services, account_id: UUID) -> UUID:
    """Create a webhook with a private target, so that a test of it is refused."""
    return (await create_webhook(services, account_id, "http://127.0.0.1:9/")).id


async def a_delivery(services: Services, account_id: UUID) -> UUID:
    """Create a delivery of the account's newest webhook."""
    [webhook], _ = await services.webhooks.webhooks.page(account_id, 1, 1)
    event = {"_id": 1, "account_id": account_id.bytes, "at": now()}
    async with await services.stores.mongodb.client.start_session() as session:
        await create_deliveries(services.stores.mongodb.database, [event], session)
    return delivery_id(webhook.id, 1)


async def a_conversion(services: Services, account_id: UUID) -> int:
    """Store a conversion without a click."""
    event = make_event_document(next(_EVENT_IDS), account_id=account_id)
    await services.stores.mongodb["events"].insert_one(event)
    return int(event["_id"])


async def a_transaction(services: Services, account_id: UUID) -> int:
    """Store a conversion whose transaction id is its own id."""
    number = next(_EVENT_IDS)
    scoped = {"transaction_id": str(number), "transaction_scope": account_id}
    event = make_event_document(number, account_id=account_id, **scoped)
    await services.stores.mongodb["events"].insert_one(event)
    return number


async def an_external_id(_: Services, __: UUID) -> int:
    """Return an id that no link has: such a request creates one."""
    return next(_EVENT_IDS)


async def a_key(services: Services, account_id: UUID) -> UUID:
    return (await services.access.api_keys.create(account_id, "A key", ["keys:write"]))[0].id


async def a_member(services: Services, account_id: UUID) -> UUID:
    """Create a viewer of an account that has an owner."""
    await create_member(services, account_id)
    return (await create_member(services, account_id, Role.VIEWER)).id


async def an_invitation(services: Services, account_id: UUID) -> UUID:
    """Create an invitation of a viewer by the operator."""
    author = Author.operator(account_id)
    email = f"{new_id().hex}@example.com"
    return (await services.accounts.membership.invite(author, email, Role.VIEWER))[0].id


async def a_password_reset(services: Services, account_id: UUID) -> UUID:
    """Create a password reset of a viewer by the operator for the account."""
    member_id = await a_member(services, account_id)
    author = Author.operator(account_id)
    return (await services.accounts.membership.reset_password(author, member_id))[0].id


async def a_share(services: Services, account_id: UUID) -> UUID:
    return (await create_share(services, account_id))[0].id


async def an_import(services: Services, account_id: UUID) -> UUID:
    """Create an import of lines that has been checked, and may be run."""
    return await an_import_in("checked", services, account_id)


async def an_import_in(state: State, services: Services, account_id: UUID) -> UUID:
    add_lines(services)
    made = Import(id=new_id(), account_id=account_id, created_at=now(), source="lines")
    await services.imports.imports.create(made)
    await services.stores.mongodb["imports"].update_one(
        {"_id": made.id}, {"$set": {"state": state}}
    )
    return made.id


async def a_compared_import(services: Services, account_id: UUID) -> UUID:
    import_id = await an_import_in("done", services, account_id)
    check = {"$set": {"cut_over": {"at": now()}}}
    await services.stores.mongodb["imports"].update_one({"_id": import_id}, check)
    return import_id


async def an_import_of_a_csv(services: Services, account_id: UUID) -> UUID:
    import_id = await an_import(services, account_id)
    writer = services.imports.files.writer()
    writer.write(A_FILE)
    await writer.close()
    fields = {"format": "columns", "file_id": writer.id}
    await services.stores.mongodb["imports"].update_one({"_id": import_id}, {"$set": fields})
    return import_id


async def an_upload(services: Services, account_id: UUID) -> UUID:
    """Create an upload that has been checked, and may be run."""
    writer = services.uploads.files.writer()
    writer.write(A_FILE)
    await writer.close()
    made = Upload(
        id=new_id(),
        account_id=account_id,
        created_at=now(),
        form="csv",
        state="checked",
        file_id=writer.id,
    )
    await services.uploads.uploads.create(made)
    return made.id


async def a_view(services: Services, account_id: UUID) -> UUID:
    return (await create_view(services, account_id)).id


async def a_cost(services: Services, account_id: UUID) -> UUID:
    return await create_cost(services, account_id)


async def a_rule(kind: str, services: Services, account_id: UUID) -> UUID:
    webhook_id = await a_webhook(services, account_id)
    return (await create_rule(services, kind, account_id, webhook_id)).id


MAKERS: dict[str, Maker] = {
    "/api/shares/": a_share,
    "/api/views/": a_view,
    "/api/alerts/": partial(a_rule, "alerts"),
    "/api/summaries/": partial(a_rule, "summaries"),
    "/api/costs/": a_cost,
    "/api/short-links/": a_short_link,
    "/api/short-links/external/": an_external_id,
    "/api/short-links/{id}/split/end": a_link_with_a_split,
    "/api/short-links/{id}/rules/restore": a_link_whose_rules_changed,
    "/api/tags/": a_tag,
    "/api/domains/": a_domain,
    "/api/event-configs/": an_event_config,
    "/api/conversions/": a_conversion,
    "/api/conversions/by-transaction/": a_transaction,
    "/api/webhooks/": a_webhook,
    "/api/webhooks/{id}/deliveries/": a_delivery,
    "/api/keys/": a_key,
    "/api/members/": a_member,
    "/api/invitations/": an_invitation,
    "/api/password-resets/": a_password_reset,
    "/api/conversions/uploads/": an_upload,
    "/api/imports/": an_import,
    "/api/imports/{id}/preview": an_import_of_a_csv,
    "/api/imports/{id}/pause": partial(an_import_in, "running"),
    "/api/imports/{id}/resume": partial(an_import_in, "paused"),
    "/api/imports/{id}/undo": partial(an_import_in, "done"),
    "/api/imports/{id}/cut-over-check": a_compared_import,
}
"""The function that creates an object, by the path before its id, or by the whole path."""


GRANTED: dict[str, Sequence[str]] = {
    f"{method} {path}": SCOPES_OF[Role.VIEWER] or ()
    for method, path in (
        ("POST", "/api/invitations"),
        ("PATCH", "/api/members/{id}"),
        ("DELETE", "/api/members/{id}"),
        ("POST", "/api/members/{id}/password-reset"),
    )
} | dict.fromkeys(
    ("POST /api/shares", "POST /api/alerts", "PUT /api/alerts/{id}", "POST /api/summaries"),
    ("reports:read",),
)
GRANTED["GET /api/short-links/figures"] = ("links:read",)
"""The scopes that a request grants or takes besides the endpoint's, which the key has to have."""


def unknown_id(known: Id) -> Id:
    """Return an id of the type of `known` that does not exist."""
    return new_id() if isinstance(known, UUID) else next(_EVENT_IDS)


def maker(prefix: str) -> Maker:
    assert prefix in MAKERS, f"add to MAKERS what makes an object that is found at {prefix}<id>"
    return MAKERS[prefix]


def examples_of(endpoint: Endpoint) -> dict[str, str]:
    """Return the examples of the parameters that a query needs, besides the account."""
    described = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]["parameters"]
    return {
        one["name"]: one["schema"]["examples"][0]
        for one in described
        if one["in"] == "query" and one["required"] and one["name"] != "accountId"
    }


class Request(NamedTuple):
    """A request for an endpoint that the owner of its objects may make."""

    endpoint: Endpoint
    ids: list[Id]
    account_id: UUID

    @property
    def path(self) -> str:
        ids = iter(self.ids)
        path = re.sub(r"\{\w+\}", lambda _: str(next(ids)), self.endpoint.path)
        return f"{path}{self._query}"

    @property
    def body(self) -> bytes:
        if self.endpoint.receive is not None:
            return A_FILE
        if self.endpoint.body is Nothing:
            return b""
        assert self.endpoint.example is not None, "an endpoint with a body needs an example"
        return orjson.dumps(self.endpoint.example | self._account_in(self.endpoint.body))

    @property
    def scope(self) -> str:
        kind = self.endpoint.body
        body = None if kind is Nothing else parse_body(kind, self.body).value
        scope = self.endpoint.scope_of(body)
        assert scope is not None, "an endpoint for people only has tests of its own"
        return scope

    @property
    def scopes(self) -> list[str]:
        """The scopes with which a key may make the request."""
        granted = GRANTED.get(f"{self.endpoint.method} {self.endpoint.path}", ())
        return [self.scope, *granted]

    def named(self, names: Mapping[str, object]) -> tuple[str, bytes]:
        """Return path and body with `names` in place of the account: in the body, or the query."""
        texts = {name: str(value) for name, value in names.items()}
        path, body = self.path, self.body
        if body and self.endpoint.receive is None:
            fields = {k: v for k, v in orjson.loads(body).items() if k not in SPELLINGS}
            return path.partition("?")[0], orjson.dumps(fields | texts)
        return f"{path.partition('?')[0]}?{urlencode(examples_of(self.endpoint) | texts)}", body

    @property
    def _query(self) -> str:
        named = examples_of(self.endpoint) | self._account_in(self.endpoint.query)
        return f"?{urlencode(named)}" if named else ""

    def _account_in(self, kind: type[msgspec.Struct]) -> dict[str, str]:
        """Return the account in the spelling of `kind`, nothing if it has no account."""
        fields = msgspec.structs.fields(kind)
        names = [field.encode_name for field in fields if field.name == "account_id"]
        return {name: str(self.account_id) for name in names}


class World(NamedTuple):
    """What a test of an endpoint starts with, and requests for objects of every kind."""

    services: Services
    client: Client
    account: Account
    other_account: Account
    secret: str
    """An API key of `account` with every scope."""

    @property
    def api(self) -> KeyedClient:
        return KeyedClient(self.client, self.secret)

    async def anew(self) -> "World":
        """Return the world with two other accounts, which own nothing."""
        accounts = self.services.accounts.accounts
        made = [await accounts.create(name) for name in ("Acme", "Another")]
        _, secret = await self.services.access.api_keys.create(made[0].id, "a key")
        return self._replace(account=made[0], other_account=made[1], secret=secret)

    async def person(self, role: Role = Role.OWNER, password: str | None = None) -> PersonClient:
        """Return the browser of a new person who is signed in to `account`."""
        return await signed_in(self.services, self.client, self.account.id, role, password)

    async def request(self, endpoint: Endpoint, account: Account) -> Request:
        """Return a request for new objects of `account`."""
        prefixes = [endpoint.path[: one.start()] for one in re.finditer(r"\{", endpoint.path)]
        own = [endpoint.path] if endpoint.path in MAKERS else prefixes
        ids = [await maker(prefix)(self.services, account.id) for prefix in own]
        example = orjson.dumps(endpoint.example).decode()
        if EXAMPLE_LINK in example:
            link_id = await a_short_link(self.services, account.id)
            example = example.replace(EXAMPLE_LINK, str(link_id))
        if EXAMPLE_WEBHOOK in example:
            webhook_id = await a_webhook(self.services, account.id)
            example = example.replace(EXAMPLE_WEBHOOK, str(webhook_id))
        if EXAMPLE_VARIANT in example:
            variant = await self.services.stores.mongodb["choices"].find_one({"link_id": ids[0]})
            assert variant is not None
            example = example.replace(EXAMPLE_VARIANT, str(variant["_id"]))
        return Request(endpoint._replace(example=orjson.loads(example)), ids, account.id)

    async def api_with(self, scopes: Sequence[str] | None) -> KeyedClient:
        """Return a client with another key of `account`."""
        return KeyedClient(self.client, await self.key(self.account, scopes=scopes))

    async def key(self, account: Account, **fields: Any) -> str:
        return (await self.services.access.api_keys.create(account.id, "a key", **fields))[1]

    async def send(self, request: Request, key: str | None) -> Response:
        sent: dict[str, str | bytes] = {} if key is None else {"Authorization": f"Bearer {key}"}
        return await self.client.request(request.endpoint.method, request.path, sent, request.body)

    async def stored(self) -> dict[str, list[Any]]:
        """Return everything in MongoDB except API keys, whose last use changes."""
        database = self.services.stores.mongodb.database
        every = await database.list_collection_names()
        names = sorted(n for n in every if n != "api_keys" and not n.startswith("system."))
        found: dict[str, list[Any]] = {name: [] for name in names}
        async for one in database[names[0]].aggregate(_documents_of(names)):
            found[one["of"]].append(one["document"])
        return found


def _documents_of(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the pipeline on the first of `names` that finds the documents of all, by id.

    One query for all collections, because the tests of every endpoint compare them often.
    """
    pipeline: list[dict[str, Any]] = []
    for name in names:
        one: list[dict[str, Any]] = [
            {"$sort": {"_id": 1}},
            {"$project": {"_id": 0, "of": {"$literal": name}, "document": "$$ROOT"}},
        ]
        pipeline += [{"$unionWith": {"coll": name, "pipeline": one}}] if pipeline else one
    return pipeline
