"""Every endpoint that takes a key: the requests that it refuses, and the answer to a good one."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from tests.dns.dns_server import DnsServer
from tests.web.document import assert_described
from tests.web.each import each
from tests.web.ends import OF_KEYS, a_key, narrow
from tests.web.held import held
from tests.web.person import signed_in
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import SPELLINGS, Request, World, unknown_id
from tracker.access.principal import SCOPES
from tracker.access.roles import SCOPES_OF, Role
from tracker.access.session_cookie import SAFE_METHODS
from tracker.clock import now
from tracker.ids import new_id
from tracker.web.endpoint import TEXT_IDS, Endpoint, MediaType

NO_KEY: Final = "API key: send it as Authorization: Bearer <API_KEY>"
FOREIGN: Final = "accountId: this API key has no access to the account"

NO_STRICT_OBJECT: Final = [
    (b"", "body: must be valid JSON"),
    (b"accountId=x", "body: must be valid JSON"),
    (b"[]", "body: must be a JSON object"),
    (b'{"accountId":NaN}', "body: NaN is not a JSON number"),
    (b'{"accountId":"x","accountId":"x"}', "body: the name 'accountId' is repeated"),
    (b'{"accountId":"\xff"}', "body: must be UTF-8"),
    (b'{"accountId":"\\ud800"}', "body: no null characters and no lone surrogates"),
    (b"[" * 50_000, "body: at most 32 levels deep"),
]

UNAUDITED: Final = {
    "POST /api/reports": "reads",
    "POST /api/reports/overview": "reads",
    "POST /api/reports/export": "reads",
    "POST /api/webhooks/preview": "shows what a template would become",
    "POST /api/webhooks/{id}/test": "sends a sample; nothing of the account changes",
    "POST /api/webhooks/{id}/deliveries/send": "the example finds no waiting delivery",
    "POST /api/webhooks/{id}/deliveries/retry": "the example finds no failed delivery",
    "POST /api/short-links/{id}/decide": "reads",
    "POST /api/short-links/decide": "reads",
    "POST /api/postbacks/check": "reads",
    "POST /api/short-links/{id}/test-click": "records a click; nothing of the account changes",
    "POST /api/event-configs/{id}/test-conversion": "records a conversion; the same",
    "POST /api/conversions/bulk": "the example's conversion does not exist",
    "POST /api/domains/{id}/verify": "the example's domain is verified already",
    "POST /api/short-links/{id}/restore": "the example's link is not archived",
    "POST /api/costs/{id}/restore": "the example's amount is the one that the cost has",
    "PATCH /api/members/{id}": "the example's role is the one that the member has",
}


class Refusal(NamedTuple):
    """A request with a key, and the status and error of its answer."""

    key: str | None
    path: str
    body: bytes
    status: int
    error: str
    """The beginning of the message."""


async def of_keys(world: World, request: Request) -> list[Refusal]:
    keys = world.services.access.api_keys
    every = {f"{resource}:{verb}" for resource in SCOPES for verb in ("read", "write")}
    revoked, revoked_secret = await keys.create(world.account.id, "revoked")
    await keys.revoke(revoked.id)
    expired = await world.key(world.account, expires_at=now() - timedelta(milliseconds=1))
    others = await world.key(world.account, scopes=sorted(every - {request.scope}))
    none = await world.key(world.account, scopes=[])
    lacks = f"this API key lacks the scope {request.scope}"
    return [
        Refusal(key, request.path, request.body, status, error)
        for key, status, error in [
            (None, 401, NO_KEY),
            ("trk_unknown", 401, "API key: unknown"),
            (revoked_secret, 401, "API key: revoked"),
            (expired, 401, "API key: expired"),
            (await world.key(world.other_account), 403, ""),
            (others, 403, lacks),
            (none, 403, lacks),
        ]
    ]


def of_accounts(world: World, request: Request, foreign: str) -> Iterator[Refusal]:
    """Yield requests that name another account, or none that is one."""
    for spelling in SPELLINGS:
        for account_id in (world.other_account.id, new_id()):
            named = request.named({spelling: account_id})
            yield Refusal(world.secret, *named, 403, FOREIGN)
    both = dict(zip(SPELLINGS, (world.account.id, world.other_account.id), strict=True))
    yield Refusal(world.secret, *request.named(both), 400, "account_id: differs from accountId")
    # The key is checked before the request, and the request before access.
    malformed = request.named({"accountId": "x"})
    yield Refusal("trk_unknown", *malformed, 401, "API key: unknown")
    yield Refusal(foreign, *malformed, 400, "accountId: must be a UUID")


def of_fields(world: World, request: Request) -> Iterator[Refusal]:
    """Yield requests with an unknown parameter or field, or without a body of strict JSON."""
    unknown = f"{request.path}{'&' if '?' in request.path else '?'}zzz=1"
    error = "zzz: unknown parameter; known are accountId"
    yield Refusal(world.secret, unknown, request.body, 400, error)
    if request.body and request.endpoint.receive is None:
        for name in ("slgu", "$set", "a.b", "", "__proto__", "id"):
            named = request.named({"accountId": world.account.id, name: 1})
            yield Refusal(world.secret, *named, 400, f"{name}: unknown field")
        for body, error in NO_STRICT_OBJECT:
            yield Refusal(world.secret, request.path, body, 400, error)


def of_ids(world: World, request: Request, foreign: Request) -> Iterator[Refusal]:
    """Yield requests whose path has an id that is malformed, missing, or another account's."""
    if not request.ids or request.endpoint.id_names[0] in TEXT_IDS:  # any text is one
        return
    key, body, name = world.secret, request.body, request.endpoint.id_names[0]
    rule = "must be a whole number" if name == "event_id" else "must be a UUID"
    for text in ("x", "%ff", "%00", "%2e%2e", "0", "{id}", uuid4().hex, f"{uuid4()}%00"):
        path = re.sub(r"\{\w+\}", text, request.endpoint.path)
        yield Refusal(key, path, body, 400, f"{name}: {rule}")
    for place, known in enumerate(request.ids):
        ids = [*request.ids[:place], unknown_id(known), *request.ids[place + 1 :]]
        yield Refusal(key, request._replace(ids=ids).path, body, 404, "")
    theirs = request._replace(ids=foreign.ids).path
    yield Refusal(key, theirs, body, 403, "")


@each(KEYED_ENDPOINTS)
async def test_a_request_that_breaks_a_rule_is_refused_and_changes_nothing(
    world: World, names: DnsServer, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    theirs = await world.request(endpoint, world.other_account)
    by_key = await of_keys(world, request)
    foreign_key = await world.key(world.other_account)
    asked, before = len(names.asked), await world.stored()
    for refusal in (
        *by_key,
        *of_accounts(world, request, foreign_key),
        *of_fields(world, request),
        *of_ids(world, request, theirs),
    ):
        sent = {} if refusal.key is None else {"Authorization": f"Bearer {refusal.key}"}
        sent["X_Request_Id"] = "known-id"
        if endpoint.method == "GET":
            head = await world.client.request("HEAD", refusal.path, sent)
            assert (head.status, head.body) == (refusal.status, b"")
        response = await world.client.request(endpoint.method, refusal.path, sent, refusal.body)
        assert (response.status, response.error[: len(refusal.error)]) == refusal[3:], refusal
        assert refusal.status != 404 or response.error.endswith(": not found")
        bearer = "Bearer" if response.status == 401 else None
        assert response.headers.get("WWW-Authenticate") == bearer
        assert response.headers.get_list("X-Request-Id") == ["known-id"]
    assert await world.stored() == before
    assert len(names.asked) == asked


def values(node: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in an answer except objects, with its name or that of its list."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "payload_template":  # whose names are the customer's
                yield from values(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from values(value, name)
    else:
        yield name, node


def check_values(answer: Any) -> None:
    """Check that ids are UUIDs in lower case, and times ISO 8601 in UTC with milliseconds."""
    for name, value in values(answer):
        if value is None or name in ("event_id", "transaction_id", "external_id"):
            continue
        if name == "id" or name.endswith("_id"):
            assert value == str(UUID(value)), name
        if name.endswith("_at"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value), name


@each(KEYED_ENDPOINTS)
async def test_a_good_request_is_answered_as_described_and_is_in_the_audit_log_once(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account, scopes=request.scopes)
    await world.services.stores.mongodb["audit"].delete_many({})
    response = await world.send(request, key)
    assert response.status == 200, response.body
    assert_described(endpoint.method, endpoint.path, response)
    own = endpoint.answer if isinstance(endpoint.answer, MediaType) else None
    charset = "; charset=utf-8" if own is None or endpoint.is_file else ""
    assert response.headers["Content-Type"] == (own.name if own else "application/json") + charset
    if own is None:
        check_values(response.json())
    if endpoint.method == "GET":
        head = await world.client.request("HEAD", request.path, {"Authorization": f"Bearer {key}"})
        assert (head.status, head.body) == (200, b"")
        assert set(head.headers) == set(response.headers) - {"Transfer-Encoding"}
        for name in ("Content-Type", "Content-Disposition", "ETag", "Vary", "Cache-Control"):
            assert head.headers.get(name) == response.headers.get(name)
    entries = await world.services.stores.mongodb["audit"].find().to_list(None)
    name = f"{endpoint.method} {endpoint.path}"
    assert len(entries) == (0 if endpoint.method == "GET" or name in UNAUDITED else 1), entries
    for entry in entries:
        assert (entry["account_id"], entry["actor"]["kind"]) == (world.account.id, "api_key")
        assert entry["target"]["name"]
        assert entry["address"] == "127.0.0.0/24"


@each(KEYED_ENDPOINTS)
async def test_the_account_may_be_named_in_either_spelling(
    world: World, endpoint: Endpoint
) -> None:
    for spelling in SPELLINGS:
        fresh = await world.anew()
        request = await fresh.request(endpoint, fresh.account)
        path, body = request.named({spelling: fresh.account.id})
        assert (await fresh.api.send(endpoint.method, path, body)).status == 200


CROSS_SITE: Final[dict[str, str | bytes]] = {"Sec_Fetch_Site": "cross-site"}
A_FORM: Final[dict[str, str | bytes]] = {"Content_Type": "text/plain"}


@each(KEYED_ENDPOINTS)
async def test_a_session_has_the_access_of_its_role_in_its_account(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    people = {role: await world.person(role) for role in (Role.VIEWER, Role.EDITOR, Role.OWNER)}
    foreign = await signed_in(world.services, world.client, world.other_account.id)
    allowed = [people[role] for role in people if may(role, request.scope)]
    before = await world.stored()
    sent = endpoint.method, request.path, request.body
    assert (await foreign.send_raw(*sent)).status == 403
    for person in people.values():
        if person not in allowed:
            refused = await person.send_raw(*sent)
            lacks = f"your role lacks the scope {request.scope}"
            assert (refused.status, refused.error) == (403, lacks)
    assert (await allowed[0].send_raw(*sent, CROSS_SITE)).status == 403
    if endpoint.method not in SAFE_METHODS:
        assert (await allowed[0].send_raw(*sent, A_FORM)).status == 400
    assert await world.stored() == before
    answer = await allowed[0].send_raw(*sent)
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
    assert answer.headers["Vary"].startswith("Authorization, Cookie")


def may(role: Role, scope: str) -> bool:
    scopes = SCOPES_OF[role]
    return scopes is None or scope in scopes or f"{scope.partition(':')[0]}:*" in scopes


@each(KEYED_ENDPOINTS)
async def test_a_key_whose_access_ends_before_the_last_byte_changes_nothing(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, keys = await world.stored(), world.services.access.api_keys
    for end in OF_KEYS:
        key = await a_key(world)
        count = len(await keys.list(world.account.id))
        sent = held(world.client, endpoint.method, request.path, key.fields, request.body)
        async with sent as finish:
            await end(key)
            assert (end, (await finish()).status) == (end, 403 if end is narrow else 401)
        assert await world.stored() == before
        assert len(await keys.list(world.account.id)) == count
