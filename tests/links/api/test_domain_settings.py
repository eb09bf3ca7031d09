"""The settings of a domain over HTTP: what may be set, who sees it, and the audit log."""

from typing import Any

import msgspec

from tests.links.api.domains import NAME, PATH, add, send
from tests.links.processes import process
from tests.waiting import becomes
from tests.web.client import Response
from tests.web.world import World
from tracker.access.audit import AuditFilter
from tracker.links.domain import SETTINGS, ServedName
from tracker.stores.cache.cache import Versioned

LOST = "https://example.com/lost"


async def change(world: World, domain: dict[str, Any], **fields: Any) -> Response:
    return await send(world.api, "PATCH", f"{PATH}/{domain['id']}", **fields)


async def test_only_sent_settings_change_and_null_clears_one(world: World) -> None:
    domain = await add(world.api, world.account)
    usual = {"case_sensitive": True, "root_url": None, "not_found_url": None, "expired_url": None}
    for sent, shown in (
        ({"root_url": " https://example.com/ "}, {"root_url": "https://example.com/"}),
        ({"not_found_url": LOST}, {"root_url": "https://example.com/", "not_found_url": LOST}),
        ({"root_url": None}, {"not_found_url": LOST}),
        ({"case_sensitive": False}, {"not_found_url": LOST, "case_sensitive": False}),
    ):
        response = await change(world, domain, **sent)
        assert response.status == 200
        assert {name: response.json()[name] for name in usual} == usual | shown
    entries, _ = await world.services.access.audit.page(
        world.account.id, 1, 9, AuditFilter(action="domain.changed")
    )
    assert [msgspec.to_builtins(entry.changes) for entry in entries] == [
        {"case_sensitive": {"before": True, "after": False}},
        {"root_url": {"before": "https://example.com/", "after": None}},
        {"not_found_url": {"before": None, "after": LOST}},
        {"root_url": {"before": None, "after": "https://example.com/"}},
    ]


async def test_a_setting_that_breaks_a_rule_is_refused_with_field_and_rule(world: World) -> None:
    domain = await add(world.api, world.account)
    other = await world.services.links.domains.create(world.account.id, "other.example")
    await world.services.links.domains.verify(other.id)
    away = "must not be on a host of this service"
    for field in ("root_url", "not_found_url", "expired_url"):
        for url, rule in (
            ("example.com", "must be an absolute http or https URL"),
            (f"https://example.com/{'x' * 2048}", "at most 2048 characters"),
            ("https://exam\u200bple.com/", "has an invisible character"),
            (f"https://{NAME}/", away),
            (f"https://{NAME.upper()}.:8443/x", away),
            ("http://other.example/", away),
            ("http://tracker.test/c/x", away),
        ):
            response = await change(world, domain, **{field: url})
            assert (response.status, response.error[: len(field)]) == (400, field), url
            assert rule in response.error
    assert (await change(world, domain, case_sensitive=None)).error.startswith("case_sensitive:")


async def test_a_changed_setting_reaches_every_process(world: World) -> None:
    domain = await add(world.api, world.account)

    async with process(world.services.settings) as other:

        async def seen() -> str | None:
            name = await other.links.domains.by_name(NAME)
            assert name is not None
            return name.not_found_url

        assert await seen() is None
        await change(world, domain, not_found_url=LOST)
        await becomes(seen, LOST)


def test_a_copy_of_a_name_without_settings_is_as_long_as_before_and_an_old_one_is_read() -> None:
    class OldName(Versioned, frozen=True, kw_only=True):
        namespace: str
        verified: bool
        quarantined: bool

    old = OldName(version=0, namespace="a", verified=True, quarantined=False)
    encoded = msgspec.msgpack.encode(old)
    read = msgspec.msgpack.decode(encoded, type=ServedName)
    assert msgspec.msgpack.encode(read) == encoded
    assert [getattr(read, name) for name in SETTINGS] == [True, None, None, None]
