"""Members who are limited to links of some tags: what they see, and what they may change."""

import re
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pytest

from tests.conversions.scene import applied
from tests.factories import (
    AT_MS,
    create_cost,
    create_link,
    create_share,
    create_webhook,
    make_click,
    make_event_document,
)
from tests.reports.history import History
from tests.sharing.api.shares import FROM_PAGE, opened
from tests.web.client import Client, Response
from tests.web.each import each, each_case
from tests.web.person import PersonClient, signed_in
from tests.web.reported import by_key, days, reported
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import Request, World
from tracker.access.roles import Role
from tracker.clock import day_of, moment
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.service.services import Services
from tracker.web.endpoint import EVENT_ID, TEXT_IDS, Endpoint
from tracker.web.limits import MAX_TAGS

DAY = day_of(moment(AT_MS))

OUTSIDE = {
    "POST /api/short-links": (400, "bad_request"),
    "POST /api/short-links/bulk": (400, "bad_request"),
    "PATCH /api/short-links/bulk": (404, "not_found"),
}
"""Endpoints without an id in the path that a limit refuses for what is sent."""


async def limited(world: World, *tags: UUID, role: Role = Role.EDITOR) -> PersonClient:
    return await signed_in(world.services, world.client, world.account.id, role, tags=tags)


async def a_tag(world: World, name: str) -> UUID:
    return (await world.services.links.tags.create(world.account.id, name)).id


def code_of(response: Response) -> tuple[int, str]:
    return response.status, response.headers.get("X-Error-Code", "")


@each_case("endpoint", [one for one in KEYED_ENDPOINTS if not one.limited])
async def test_an_endpoint_refuses_limited_members_unless_it_respects_limits(
    world: World, endpoint: Endpoint
) -> None:
    person = await limited(world, new_id())
    # The limit is checked before existence.
    ids = [1 if name in (EVENT_ID, *TEXT_IDS) else new_id() for name in endpoint.id_names]
    request = Request(endpoint, [*ids], world.account.id)
    response = await person.send_raw(endpoint.method, request.path, request.body)
    assert code_of(response) == (403, "limited")


@each(one for one in KEYED_ENDPOINTS if one.limited)
async def test_an_endpoint_that_respects_limits_hides_and_keeps_what_is_outside(
    world: World, endpoint: Endpoint
) -> None:
    person = await limited(world, await a_tag(world, "Mine"))
    request = await world.request(endpoint, world.account)
    name = f"{endpoint.method} {endpoint.path}"
    before = await world.stored()
    response = await person.send_raw(endpoint.method, request.path, request.body)
    if request.ids:
        assert code_of(response) == (404, "not_found")
    elif name in OUTSIDE:
        assert code_of(response) == OUTSIDE[name]
    else:
        assert response.status == 200
        # A tag of the limit is seen, without a link.
        shown = name != "GET /api/tags" and b'"rows":[{' in response.body
        assert not shown and not re.search(rb'"(links|clicks)":[1-9]', response.body)
    if response.status != 200:
        assert await world.stored() == before


async def test_a_session_tells_limited_members_of_no_failing_webhooks(world: World) -> None:
    webhook = await create_webhook(world.services, world.account.id)
    failing = {"$set": {"failing_since": moment(AT_MS)}}
    await world.services.stores.mongodb["webhooks"].update_one({"_id": webhook.id}, failing)
    for person, number in (
        (await world.person(), 1),
        (await limited(world, await a_tag(world, "Mine")), 0),
    ):
        shown = await person.send("GET", "/api/session")
        assert shown.json()["account"]["failing_webhooks"] == number


class Scene(NamedTuple):
    """Links with the tags of two clients: each has its own, one has both, and one has none."""

    world: World
    mine: UUID
    theirs: UUID
    links: dict[str, Link]

    def of(self, *names: str) -> set[str]:
        return {str(self.links[name].id) for name in names}

    async def tags_of(self, name: str) -> set[UUID]:
        link = await self.world.services.links.links.find(self.links[name].id)
        assert link is not None
        return {*link.tags}


async def made(world: World) -> Scene:
    """Store the links, with a click, a conversion and the cost of a campaign for each."""
    services, account_id = world.services, world.account.id
    mine, theirs = await a_tag(world, "Mine"), await a_tag(world, "Theirs")
    tags = {"mine": [mine], "both": [theirs, mine], "theirs": [theirs], "bare": []}
    links = {
        name: await create_link(services, account_id, name, internal_name=name, tags=of)
        for name, of in tags.items()
    }
    clicks = [
        make_click(account_id, link_id=link.id.bytes, query=f"utm_campaign={name}")
        for name, link in links.items()
    ]
    await applied(services, clicks)
    for number, (name, click) in enumerate(zip(links, clicks, strict=True), 1):
        of_click = {"click_id": UUID(bytes=click.id), "link_id": links[name].id}
        sale = {"transaction_id": name, "transaction_scope": account_id, "status": "attributed"}
        event = make_event_document(number, account_id=account_id, **of_click, **sale)
        await services.stores.mongodb["events"].insert_one(event)
        await create_cost(services, account_id, first=DAY, last=DAY, value=name, amount=10**9)
    await services.stores.mongodb["events"].insert_one(
        make_event_document(99, account_id=account_id, transaction_id="none")
    )
    return Scene(world, mine, theirs, links)


async def asked(scene: Scene, person: PersonClient, path: str, **query: object) -> Any:
    fields = {"accountId": scene.world.account.id, **query}
    named = "&".join(f"{name}={value}" for name, value in fields.items())
    response = await person.send("GET", f"{path}?{named}")
    assert response.status == 200, response.body
    return response.json()


async def test_lists_and_feeds_show_what_is_within_the_limit(world: World) -> None:
    scene = await made(world)
    person = await limited(world, scene.mine)
    seen = scene.of("mine", "both")
    everything = {"both", "mine", "theirs", "bare", "none"}
    for path, field, filters in (
        ("/api/short-links", "id", {}),
        ("/api/short-links", "id", {"selectedTags": scene.mine}),
        ("/api/short-links", "id", {"search": "m"}),
        ("/api/short-links/figures", "link", {"from": DAY, "to": DAY}),
        ("/api/clicks", "link", {}),
        ("/api/conversions", "link", {}),
    ):
        rows = (await asked(scene, person, path, **filters))["rows"]
        found = {row[field]["id"] if field == "link" else row[field] for row in rows}
        assert found <= seen and (found == seen or "search" in filters), (path, filters)
    both_tags = f"{scene.mine},{scene.theirs}"
    for path, filters in (
        ("/api/short-links", {"selectedTags": scene.theirs}),
        ("/api/short-links", {"selectedTags": both_tags, "tagOperator": "AND"}),
        ("/api/short-links", {"slug": "theirs"}),
        ("/api/clicks", {"tag": scene.theirs}),
        ("/api/clicks", {"link": scene.links["theirs"].id}),
        ("/api/conversions", {"link": scene.links["bare"].id}),
        ("/api/conversions", {"transaction_id": "theirs"}),
        ("/api/conversions", {"transaction_id": "none"}),
    ):
        assert (await asked(scene, person, path, **filters))["rows"] == [], (path, filters)
    [click] = (await asked(scene, person, "/api/conversions", transaction_id="mine"))["rows"]
    foreign = await world.services.stores.mongodb["events"].find_one({"transaction_id": "theirs"})
    assert foreign is not None
    for text, ids in (
        *(("mine", [1]), ("1", [1]), (click["click_id"], [1])),
        *((name, []) for name in ("theirs", "3", "none", "99", foreign["click_id"])),
    ):
        found_out = await asked(scene, person, "/api/find", q=text)
        assert [row["event_id"] for row in found_out["conversions"]] == ids, text
        assert (found_out["click"] is not None) == (text == click["click_id"]), text
    [tag] = (await asked(scene, person, "/api/tags"))["rows"]
    assert (tag["name"], tag["links"]) == ("Mine", 2)
    for path in ("/api/short-links", "/api/clicks", "/api/conversions"):
        query = f"?accountId={world.account.id}&format=csv"
        text = (await person.send("GET", f"{path}/export{query}")).body.decode()
        found = {name for name in everything if re.search(rf"\b{name}\b", text)}
        assert found == {"mine", "both"}, path
        assert "Theirs" not in text
    [both] = (await asked(scene, person, "/api/short-links", slug="both"))["rows"]
    assert both["tags"] == [{"id": str(scene.mine), "name": "Mine"}]
    assert (await asked(scene, person, "/api/conversions/1"))["deliveries"] is None
    for number in (3, 4, 99):
        response = await person.send("GET", f"/api/conversions/{number}")
        assert code_of(response) == (404, "not_found")


async def test_reports_count_only_links_within_the_limit(world: World) -> None:
    scene = await made(world)
    person = await limited(world, scene.mine, role=Role.VIEWER)
    quiet = await create_link(world.services, world.account.id, "quiet", tags=[scene.mine])
    for name, value in (("utm_campaign", "unmet"), ("link", str(quiet.id))):
        unmet = {"filter": name, "value": value, "amount": 10**9}
        await create_cost(world.services, world.account.id, first=DAY, last=DAY, **unmet)
    body: Any = {"accountId": str(world.account.id), "dateRange": {"from": DAY, "to": DAY}}
    filters = {"link": [*scene.of("mine", "theirs")], "tag": [str(scene.mine), str(scene.theirs)]}
    for fields, clicks, cost in (
        ({}, 2, 2),
        ({"filters": filters}, 1, 1),
        ({"filters": {"tag": str(scene.theirs)}}, 0, None),
        ({"filters": {"tag": filters["tag"], "tagOperator": "AND"}}, 0, None),
        ({"filters": {"utm_campaign": "unmet"}}, 0, None),
        ({"filters": {"link": [*scene.of("bare")]}}, 0, None),
        ({"filters": {"tag": {"is_not": [str(scene.theirs)]}}}, 2, 2),
        ({"filters": {"tag": {"is_not": [str(scene.mine)]}}}, 0, None),
        ({"filters": {"link": {"is_not": [*scene.of("mine")], "contains": ["th"]}}}, 1, 1),
    ):
        sent = {**body, **fields, "groupBy": "utm_campaign"}
        totals = (await person.send("POST", "/api/reports", sent)).json()["totals"]
        assert (totals["clicks"], totals.get("cost")) == (clicks, cost), fields
        assert totals.get("unspreadCost") is None
    table = {**body, "groupBy": ["tag", "link"]}
    for parents, names in (([], ["Mine"]), ([str(scene.theirs)], [])):
        found = (await person.send("POST", "/api/reports", {**table, "parents": parents})).json()
        assert [row["name"] for row in found["rows"]] == names
    assert found["totals"]["clicks"] == 0
    sent = {**body, "groupBy": ["country", "tag", "link"], "format": "csv"}
    text = (await person.send("POST", "/api/reports/export", sent)).body.decode()
    assert ("Mine" in text, "Theirs" in text, "bare" in text) == (True, False, False)
    panels = [{"groupBy": "tag"}, {"groupBy": "link"}]
    sent = {**body, "filters": filters, "panels": panels, "compare": "previous_week"}
    found = (await person.send("POST", "/api/reports/overview", sent)).json()
    assert [row["name"] for row in found["panels"]["tag"]["rows"]] == ["Mine"]
    assert [row["name"] for row in found["panels"]["link"]["rows"]] == ["mine"]
    theirs, names = str(scene.theirs), found["filterNames"]
    assert names["tag"] == {str(scene.mine): "Mine", theirs: theirs}
    hidden = str(scene.links["theirs"].id)
    assert names["link"] == {str(scene.links["mine"].id): "mine", hidden: hidden}
    days_ = {"from": DAY, "to": DAY}
    for dimension, values in (
        ("link", {"mine", "both"}),
        ("utm_campaign", {"mine", "both"}),
        ("tag", {"Mine"}),
    ):
        rows = (await asked(scene, person, "/api/reports/values", dimension=dimension, **days_))[
            "rows"
        ]
        assert {row["name"] for row in rows} == values


async def test_a_limit_counts_as_a_filter_by_its_tags_in_any_group(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    history: History = scene.history
    tag = next(tags[0] for tags in history.tags.values() if tags)
    person = await signed_in(services, client, history.account_id, Role.VIEWER, tags=[tag])
    for group_by in ("link", "tag", "country", "domain", "event", "currency", "hour", "rule"):
        fields = {"dateRange": days(2, 3), "groupBy": group_by, "compare": "previous_period"}
        body = {"accountId": str(history.account_id), **fields, "pageSize": 100}
        await services.stores.redis.flushdb()
        own = (await person.send("POST", "/api/reports", body)).json()
        filtered = await scene.report(**fields, filters={"tag": str(tag)})
        rows = by_key(filtered)
        if group_by == "tag":
            rows = {key: row for key, row in rows.items() if key == str(tag)}
        assert by_key(own).keys() == rows.keys()
        assert own["totals"]["clicks"] == filtered["totals"]["clicks"] > 0
        for key, row in by_key(own).items():
            assert (row["clicks"], row["conversions"]) == (
                rows[key]["clicks"],
                rows[key]["conversions"],
            )


async def test_links_stay_within_the_limit_and_keep_tags_that_are_hidden(world: World) -> None:
    scene = await made(world)
    person = await limited(world, scene.mine)
    mine, theirs = str(scene.mine), str(scene.theirs)
    account, url = {"accountId": str(world.account.id)}, {"destination_url": "https://a.example/"}
    both = f"/api/short-links/{scene.links['both'].id}"
    bulk = {**account, "ids": [*scene.of("mine", "both")]}
    foreign = {**account, "ids": [*scene.of("mine", "theirs")], "active": False}
    domain = await world.services.links.domains.create(world.account.id, "go.client.example")
    links, new = "/api/short-links", {**account, **url}
    on_domain = {**new, "tags": [mine], "domain_id": str(domain.id)}
    for method, path, body, refusal in (
        ("POST", links, {**new, "tags": []}, (400, "bad_request")),
        ("POST", links, {**new, "tags": [theirs]}, (400, "bad_request")),
        ("POST", links, {**new, "tags": [mine, theirs]}, (404, "not_found")),
        ("POST", links, on_domain, (404, "not_found")),
        ("PATCH", both, {"tags": []}, (400, "bad_request")),
        ("PATCH", both, {"tags": [mine, theirs]}, (404, "not_found")),
        ("PATCH", "/api/short-links/bulk", {**bulk, "remove_tags": [mine]}, (400, "bad_request")),
        ("PATCH", "/api/short-links/bulk", {**bulk, "remove_tags": [theirs]}, (404, "not_found")),
        ("PATCH", "/api/short-links/bulk", {**bulk, "add_tags": [theirs]}, (404, "not_found")),
        ("PATCH", "/api/short-links/bulk", foreign, (404, "not_found")),
        ("POST", "/api/tags", {**account, "name": "New"}, (403, "limited")),
    ):
        assert code_of(await person.send(method, path, body)) == refusal, body
    created = (await person.send("POST", links, {**new, "tags": [mine]})).json()
    assert [tag["name"] for tag in created["tags"]] == ["Mine"]
    changed = await person.send("PATCH", both, {"tags": [mine], "internal_name": "B"})
    assert [tag["name"] for tag in changed.json()["tags"]] == ["Mine"]
    assert await scene.tags_of("both") == {scene.mine, scene.theirs}
    assert (await person.send("DELETE", both)).status == 200


async def test_tags_that_are_hidden_stay_and_count_though_they_change_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await made(world)
    person, links = await limited(world, scene.mine), world.services.links.links
    path, sent = f"/api/short-links/{scene.links['mine'].id}", {"tags": [str(scene.mine)]}
    found = links.find

    async def found_before(changed: list[UUID], link_id: UUID) -> Link | None:
        link = await found(link_id)
        monkeypatch.undo()
        await links.change(link_id, {"tags": changed})
        return link

    for changed, status, tags in (
        ([scene.theirs, scene.mine], 200, {scene.theirs, scene.mine}),
        ([scene.theirs], 404, {scene.theirs}),
    ):
        monkeypatch.setattr(links, "find", partial(found_before, changed))
        assert (await person.send("PATCH", path, sent)).status == status
        assert await scene.tags_of("mine") == tags
    hidden = [new_id() for _ in range(MAX_TAGS)]
    await links.change(scene.links["both"].id, {"tags": [*hidden[1:], scene.mine]})
    path = f"/api/short-links/{scene.links['both'].id}"
    assert (await person.send("PATCH", path, sent)).status == 200
    await links.change(scene.links["both"].id, {"tags": [*hidden, scene.mine]})
    refused = await person.send("PATCH", path, sent)
    assert refused.error == f"tags: at most {MAX_TAGS}, with those that you do not see"


@pytest.mark.parametrize("is_joined", (False, True))
async def test_a_limit_comes_with_an_invitation_and_a_change_ends_sessions(
    world: World, is_joined: bool
) -> None:
    mine = await a_tag(world, "Mine")
    owner, theirs = await world.person(), await a_tag(world, "Theirs")
    account = {"accountId": str(world.account.id)}
    if is_joined:
        person = await limited(world, mine)
    else:
        sent = {**account, "email": "eve@example.com", "role": "editor", "tags": [str(mine)]}
        made = (await owner.send("POST", "/api/invitations", sent)).json()
        assert made["tags"] == [str(mine)]
        joining = {"name": "Eve", "password": "a few unrelated words"}
        token = made["url"].partition("#")[2]
        fields = {"Sec_Fetch_Site": "same-origin", "Content_Type": "application/json"}
        body = orjson.dumps({"token": token, **joining})
        joined = await world.client.post("/api/join", body, **fields)
        person = PersonClient(world.client, "", owner.person)
        person.secret = joined.headers["Set-Cookie"].partition("session=")[2].partition(";")[0]
    shown = (await person.send("GET", "/api/session")).json()
    assert shown["tags"] == [{"id": str(mine), "name": "Mine"}]
    assert set(shown["scopes"]) == {
        *("links:*", "shares:*", "tags:read", "reports:read", "conversions:read"),
    }
    members = (await owner.send("GET", f"/api/members?accountId={world.account.id}")).json()["rows"]
    member = next(one for one in members if one["tags"])
    path = f"/api/members/{member['id']}"
    for refused in ({"role": "owner"}, {"tags": [str(new_id())]}):
        assert (await owner.send("PATCH", path, refused)).status in (400, 404)
    assert (await person.send("GET", "/api/session")).status == 200
    changed = (await owner.send("PATCH", path, {"tags": [str(theirs)]})).json()
    assert (changed["tags"], changed["role"]) == ([str(theirs)], "editor")
    assert (await person.send("GET", "/api/session")).status == 401
    query = f"accountId={world.account.id}&action=member.role_changed"
    [entry] = (await owner.send("GET", f"/api/audit?{query}")).json()["rows"]
    assert entry["changes"] == {"tags": {"before": "Mine", "after": "Theirs"}}


async def test_a_limit_to_a_deleted_tag_shows_nothing(world: World) -> None:
    scene = await made(world)
    person = await limited(world, scene.mine)
    await world.api.delete(f"/api/tags/{scene.mine}")
    for path in ("/api/short-links", "/api/clicks", "/api/conversions", "/api/tags"):
        assert (await asked(scene, person, path))["rows"] == []
    response = await person.send("GET", f"/api/webhooks?accountId={world.account.id}")
    assert code_of(response) == (403, "limited")
    shown = (await person.send("GET", "/api/session")).json()
    assert shown["tags"] == [{"id": str(scene.mine), "name": "a deleted tag"}]


async def test_a_share_of_a_limited_member_shows_only_links_within_the_limit(world: World) -> None:
    scene = await made(world)
    person = await limited(world, scene.mine)
    await create_share(world.services, world.account.id, "Of all")
    days_ = {"from": DAY, "to": DAY}
    filters = {"link": [*scene.of("mine", "both", "theirs")]}
    panels = [{"groupBy": "link"}, {"groupBy": "tag"}]
    tables = [{"groupBy": ["tag", "link"]}]
    report = {"dateRange": days_, "panels": panels, "filters": filters, "tables": tables}
    body: Any = {"accountId": str(world.account.id), "name": "Mine", "report": report}
    free = {"show_link_names": True, "all_rows": True, "download": True}
    made_ = await person.send("POST", "/api/shares", {**body, **free})
    assert made_.json()["tags"] == [str(scene.mine)]
    [listed] = (await asked(scene, person, "/api/shares"))["rows"]
    assert listed["name"] == "Mine"
    other = await limited(world, scene.theirs, new_id())
    assert (await asked(scene, other, "/api/shares"))["rows"] == []
    assert (await other.send("DELETE", f"/api/shares/{listed['id']}")).status == 404
    token = made_.json()["url"].partition("#")[2]
    shown = (await opened(world.client, token)).json()
    for parents, names in (([], ["Mine"]), ([str(scene.theirs)], [])):
        table = (await opened(world.client, token, table=0, parents=parents)).json()
        assert [row["name"] for row in table["tables"][0]["rows"]] == names
    assert {row["name"] for row in shown["panels"]["link"]["rows"]} == {"mine", "both"}
    assert [row["name"] for row in shown["panels"]["tag"]["rows"]] == ["Mine"]
    for group_by, named in (("link", {"mine", "both"}), ("tag", {"Mine"})):
        asking = orjson.dumps({"token": token, "groupBy": group_by})
        details = await world.client.post("/api/shared/details", asking, **FROM_PAGE)
        assert {row["name"] for row in details.json()["rows"]} == named
        assert details.json()["totals"]["clicks"] == 2
        file = await world.client.post("/api/shared/details/export", asking, **FROM_PAGE)
        lines = file.body.decode("utf-8-sig").splitlines()
        assert {line.split(",")[1] for line in lines[1:]} == named
    hidden = str(scene.links["theirs"].id)
    assert set(shown["filters"]["link"]) == {"mine", "both", hidden}
    # Numbers of hidden links are ranks among those within the limit.
    body["report"] = {"dateRange": days_, "panels": panels, "filters": filters}
    hiding = (await person.send("POST", "/api/shares", body)).json()["url"].partition("#")[2]
    rows = (await opened(world.client, hiding)).json()["panels"]["link"]["rows"]
    assert [row["name"] for row in rows] == ["Link 1", "Link 2"]
    assert (await person.send("DELETE", f"/api/shares/{listed['id']}")).status == 200
