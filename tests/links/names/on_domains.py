"""Proven domains, links on them, and where their paths lead."""

from uuid import UUID

from tests.factories import create_link, make_visit
from tracker.errors import NotFound
from tracker.links.domain import Domain
from tracker.links.link import Link
from tracker.service.services import Services


async def proven(services: Services, account_id: UUID, name: str = "go.example") -> Domain:
    domain = await services.links.domains.create(account_id, name)
    return await services.links.domains.verify(domain.id)


async def leads_to(services: Services, path: str, host: str = "go.example") -> str | None:
    """Return where a path leads; None if it leads nowhere."""
    visit = make_visit(host, slug=None, path=path, method="HEAD")
    try:
        answer = await services.clicks.paths.answer(visit)
    except NotFound:
        return None
    return dict(answer.headers)["Location"]


def url_of(name: str) -> str:
    return f"https://{name}.test/"


async def on(services: Services, domain: Domain, slug: str | None, *paths: str) -> Link:
    """Store a link that leads to the URL of its slug."""
    url = url_of(slug or "random")
    fields = {"paths": list(paths), "domain": domain}
    return await create_link(services, domain.account_id, slug, url, **fields)
