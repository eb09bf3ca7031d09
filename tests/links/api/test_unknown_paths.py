"""`/api/domains/{id}/unknown-paths`: pages, and what is left out once it has a link."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import create_link
from tests.web.world import World
from tracker.clock import iso, now
from tracker.links.site import unknown_paths


async def test_paths_are_listed_by_page_until_a_link_has_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = world.services.links
    domain = await links.domains.create(world.account.id, "go.example")
    times = [now() + timedelta(seconds=second) for second in range(4)]
    monkeypatch.setattr(unknown_paths, "now", iter(times).__next__)
    for path in ("old", "old", "sp/ri ng", "taken"):
        links.unknown_paths.record(domain.id.hex, path, "news.example", "192.0.2.1")
        await links.unknown_paths.store()

    async def page(**query: Any) -> dict[str, Any]:
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        response = await world.api.get(f"/api/domains/{domain.id}/unknown-paths?{asked}")
        assert response.status == 200
        found: dict[str, Any] = response.json()
        return found

    [row, second] = (await page(pageSize=2))["rows"]
    assert (row["path"], second["path"]) == ("taken", "sp/ri%20ng")
    taken = await create_link(world.services, world.account.id, "taken", domain=domain)
    await links.links.change(taken.id, {"archived": True})
    found = await page(pageSize=1, page=2)
    assert found["pagination"] == {"page": 2, "pageSize": 1, "totalRows": 2, "totalPages": 2}
    assert found["did_not_fit"] == 0
    [row] = found["rows"]
    assert [row.pop("first_at"), row.pop("last_at")] == [iso(at) for at in times[:2]]
    assert row == {"path": "old", "host": "go.example", "count": 2, "referrer": "news.example"}
