"""Two services on the same stores act as one."""

import time

from config.settings import Settings
from tests.system.owner import new_owner
from tests.system.service import environment, running
from tracker.ids import parse_id
from tracker.services import Services


async def test_a_link_made_on_one_opens_on_the_other_and_a_change_is_seen_within_a_second(
    settings: Settings, services: Services
) -> None:
    variables = environment(settings)
    with running(variables) as one, running(variables) as other:
        owner = new_owner(variables)
        assert other.get("/c/shared").status == 404
        link = owner.create_link(one, slug="shared").json
        assert other.get("/c/shared").location.startswith("https://shop.test/p?")
        assert one.get("/c/shared").status == 302

        link_id = parse_id("id", link["id"])
        await services.links.change(link_id, {"destination_url": "https://new.test/"})
        time.sleep(1)
        for service in (one, other):
            assert service.get("/c/shared").location.startswith("https://new.test/?")

        await services.links.change(link_id, {"active": False})
        time.sleep(1)
        for service in (one, other):
            assert service.get("/c/shared").status == 404
