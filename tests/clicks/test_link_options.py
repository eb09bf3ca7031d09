"""The redirects of links with options: their window, status, parameters and headers."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import LANDING, create_link, make_visit
from tests.web.each import each_case
from tests.web.records import journaled_clicks
from tracker.clock import now
from tracker.errors import ErrorCode, NotFound
from tracker.ids import new_id
from tracker.service.services import Services

ENDED = "https://example.com/ended"
PAST, FUTURE = now() - timedelta(days=1), now() + timedelta(days=1)


@each_case(
    "options, status, location",
    [
        ({}, 302, f"{LANDING}?a=1&click_id="),
        ({"redirect_status": 301}, 301, f"{LANDING}?a=1&click_id="),
        ({"redirect_status": 307}, 307, f"{LANDING}?a=1&click_id="),
        ({"pass_query": False}, 302, f"{LANDING}?click_id="),
        ({"click_parameter": "subid"}, 302, f"{LANDING}?a=1&subid="),
        ({"starts_at": PAST, "expires_at": FUTURE}, 302, f"{LANDING}?a=1&click_id="),
        ({"starts_at": PAST, "expired_url": ENDED}, 302, f"{LANDING}?a=1&click_id="),
    ],
)
async def test_a_link_redirects_as_its_options_say_and_its_click_is_recorded(
    services: Services, options: dict[str, Any], status: int, location: str
) -> None:
    slug = (await create_link(services, new_id(), None, **options)).slug
    for query, path in (("a=1", slug), (f"s={slug}&a=1", None)):
        answer = await services.clicks.redirect.answer(make_visit(slug=path, query=query))
        headers = dict(answer.headers)
        assert answer.status == status
        assert headers["Location"].startswith(location)
        assert headers["Cache-Control"] == "no-store"
        click = (await journaled_clicks(services))[-1]
        assert headers["Location"] == location + str(UUID(bytes=click.id))
        assert click.query == query


@each_case(
    "options, answer",
    [
        ({"starts_at": FUTURE}, ErrorCode.LINK_NOT_STARTED),
        ({"expires_at": PAST}, ErrorCode.LINK_EXPIRED),
        ({"starts_at": FUTURE, "expired_url": ENDED}, ENDED),
        ({"expires_at": PAST, "expired_url": ENDED}, ENDED),
        # The redirect outside the window is the usual one.
        ({"expires_at": PAST, "expired_url": ENDED, "redirect_status": 307}, ENDED),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_outside_its_window_a_link_records_nothing(
    services: Services, method: str, options: dict[str, Any], answer: str
) -> None:
    slug = (await create_link(services, new_id(), None, **options)).slug
    visit = make_visit(slug=slug, method=method, query="a=1")
    if isinstance(answer, ErrorCode):
        with pytest.raises(NotFound) as caught:
            await services.clicks.redirect.answer(visit)
        assert caught.value.code == answer
    else:
        redirect = await services.clicks.redirect.answer(visit)
        assert (redirect.status, dict(redirect.headers)["Location"]) == (302, answer)
    assert await journaled_clicks(services) == []


async def test_a_window_ends_by_the_clock_of_the_click_whatever_is_cached(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_link(services, new_id(), expires_at=FUTURE)
    visit = make_visit()
    assert (await services.clicks.redirect.answer(visit)).status == 302
    at = round(FUTURE.timestamp() * 1000)
    for moment, is_open in ((at - 1, True), (at, False)):
        monkeypatch.setattr("tracker.clicks.redirects.redirect.now_ms", lambda now=moment: now)
        if is_open:
            assert (await services.clicks.redirect.answer(visit)).status == 302
        else:
            with pytest.raises(NotFound, match="has expired"):
                await services.clicks.redirect.answer(visit)


@each_case(
    "destination, query, expected",
    [
        ("https://x.example/?subid=own&b=1", "c=2", "https://x.example/?b=1&c=2&subid="),
        ("https://x.example/", "subid=7&s%75bid=8&c=2", "https://x.example/?c=2&subid="),
        ("https://x.example/", "click_id=7&c=2", "https://x.example/?c=2&subid="),
        ("https://x.example/?k={click_id}", "", "https://x.example/?k=ID&subid="),
        ("https://x.example/?click_id=own", "", "https://x.example/?click_id=own&subid="),
    ],
)
async def test_a_link_names_the_parameter_of_its_click_id(
    services: Services, destination: str, query: str, expected: str
) -> None:
    link = await create_link(services, new_id(), None, destination, click_parameter="subid")
    answer = await services.clicks.redirect.answer(make_visit(slug=link.slug, query=query))
    click_id = str(UUID(bytes=(await journaled_clicks(services))[-1].id))
    assert dict(answer.headers)["Location"] == expected.replace("ID", click_id) + click_id


async def test_a_link_may_keep_its_referrer_from_the_destination(services: Services) -> None:
    await create_link(services, new_id(), "kept", no_referrer=True)
    await create_link(services, new_id(), "usual")
    for slug, policy in (("kept", "no-referrer"), ("usual", None)):
        answer = await services.clicks.redirect.answer(make_visit(slug=slug))
        assert dict(answer.headers).get("Referrer-Policy") == policy


async def test_a_test_click_ignores_the_window_so_a_link_can_be_tried_before_it_starts(
    services: Services,
) -> None:
    link = await create_link(services, new_id(), starts_at=FUTURE)
    recorded = await services.clicks.redirect.record_test(make_visit(), link)
    assert recorded is not None
    assert recorded[1].startswith(LANDING)
