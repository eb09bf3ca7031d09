"""Restoring an archived short link over HTTP."""

from typing import Any
from uuid import UUID

import pytest

from tests.links.api.short_links import PATH, archived, audited, stored
from tests.web.world import World
from tracker.access.audit import FieldChange
from tracker.accounts.accounts import Account
from tracker.errors import BadRequest
from tracker.links.domain import Domain
from tracker.links.domains import Domains
from tracker.links.link import Link
from tracker.service.services import Services


async def test_a_restored_link_redirects_again(world: World) -> None:
    link = await archived(world.services, world.account)
    assert (await world.client.get("/c/abc")).status == 404
    response = await world.api.send("POST", f"{PATH}/{link.id}/restore")
    assert response.status == 200
    assert response.json() == (await world.api.get(f"{PATH}/{link.id}")).json()
    assert response.json()["archived"] is False
    assert (await world.client.get("/c/abc")).status == 302
    [entry] = await audited(world.services, world.account)
    assert (entry.action, entry.target.id) == ("short_link.restored", link.id)
    assert entry.changes == {"archived": FieldChange(before=True, after=False)}


@pytest.mark.parametrize("proven", [False, True])
async def test_a_link_is_not_restored_once_its_domain_is_gone(world: World, proven: bool) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    link = await archived(world.services, world.account, domain=domain)
    if proven:
        await world.services.links.domains.verify(domain.id)
        await world.services.links.domains.delete(domain.id)
        await world.services.links.domains.create(
            world.account.id, "go.example"
        )  # a claim without old links
    else:
        rival = await world.services.links.domains.create(world.other_account.id, "go.example")
        await world.services.links.domains.verify(rival.id)
    response = await world.api.send("POST", f"{PATH}/{link.id}/restore")
    assert response.status == 400
    assert response.error == (
        f"domain_id: short link {link.id} cannot be restored: go.example was deleted, or another "
        "account has proven it"
    )
    assert (await stored(world.services, link.id))["archived"]
    assert await audited(world.services, world.account) == []


async def restore(services: Services, link: Link, domain: Domain) -> None:
    async def check(session: Any, _: Any) -> None:
        if not await services.links.domains.lock([domain.id], session):
            raise BadRequest("domain_id: gone")

    await services.links.links.change_all([link], lambda _: {"archived": False}, check)


async def test_a_domain_that_is_deleted_during_the_transaction_is_found_gone(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = await services.links.domains.create(account.id, "go.example")
    link = await archived(services, account, domain=domain)
    lock = Domains.lock

    async def after_deletion(domains: Domains, ids: Any, session: Any) -> set[UUID]:
        if await services.links.domains.find(domain.id):
            await services.links.domains.delete(domain.id)
        return await lock(domains, ids, session)

    monkeypatch.setattr(Domains, "lock", after_deletion)
    with pytest.raises(BadRequest, match="gone"):
        await restore(services, link, domain)
    assert (await stored(services, link.id))["archived"]
