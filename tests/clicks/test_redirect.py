"""The redirect without a web server: other settings, other methods, unavailable stores."""

from uuid import UUID

import msgspec
import pytest

from tests.factories import LANDING, create_link, make_visit
from tests.web.each import each_case
from tests.web.records import journaled_clicks
from tracker.clicks.redirects.limited import LimitedClicks
from tracker.clicks.redirects.redirect import Redirect
from tracker.errors import NotFound, Unavailable
from tracker.ids import new_id
from tracker.service.services import Services

pytestmark = pytest.mark.redis


@pytest.mark.parametrize("own_host", ["127.0.0.1", "::1", "localhost", "tracker.test"])
async def test_d_may_name_the_default_domain_even_if_that_is_an_address(
    services: Services, own_host: str
) -> None:
    await create_link(services, new_id())
    redirect = Redirect(
        services.links.link_cache,
        services.links.domains,
        services.journal.journal,
        services.clicks.enrichment,
        LimitedClicks(services.journal.journal, services.links.used_clicks),
        own_host,
    )
    answer = await redirect.answer(make_visit(query=f"d={own_host}"))
    assert answer.status == 302
    with pytest.raises(NotFound, match="no such domain"):
        await redirect.answer(make_visit(query="d=127.0.0.2"))


@each_case("slug", [":", "a:b", "*", "a\n", "\x00", "\u0661", "..", "a" * 65])
async def test_an_invalid_slug_is_never_looked_up(services: Services, slug: str) -> None:
    with pytest.raises(NotFound, match="short link: not found"):
        await services.clicks.redirect.answer(make_visit(slug=slug))
    assert await services.stores.redis.keys("link:*") == []


async def test_a_visitor_leaves_only_after_the_click_is_in_the_journal(services: Services) -> None:
    await create_link(services, new_id())
    await services.stores.redis.set("journal", "not a stream")
    answer = await services.clicks.redirect.answer(make_visit())
    assert answer.status == 302
    assert list((services.settings.data_path / "spool").iterdir())
    await services.stores.redis.delete("journal")
    await services.journal.journal.replay_once()
    (click,) = await journaled_clicks(services)
    assert dict(answer.headers)["Location"].endswith(str(UUID(bytes=click.id)))


async def test_while_redis_is_unavailable_visitors_are_redirected_and_clicks_spooled(
    services: Services,
) -> None:
    await create_link(services, new_id())
    cut_off = Services(msgspec.structs.replace(services.settings, redis_url="redis://127.0.0.1:1"))
    answer = await cut_off.clicks.redirect.answer(make_visit(query="a=1"))
    location = dict(answer.headers)["Location"]
    assert location.startswith(f"{LANDING}?a=1&click_id=")
    await cut_off.stop()
    await cut_off.close()
    await services.journal.journal.replay_once()
    (click,) = await journaled_clicks(services)
    assert location.endswith(str(UUID(bytes=click.id)))


async def test_a_visitor_whose_click_cannot_be_stored_is_not_redirected(services: Services) -> None:
    await create_link(services, new_id())
    (services.settings.data_path / "spool").write_text("in the way")
    cut_off = Services(msgspec.structs.replace(services.settings, redis_url="redis://127.0.0.1:1"))
    with pytest.raises(Unavailable):
        await cut_off.clicks.redirect.answer(make_visit())
    assert (await cut_off.clicks.redirect.answer(make_visit(method="HEAD"))).status == 302
    await cut_off.close()
