"""Two services on the same stores act as one."""

from collections.abc import Sequence
from functools import partial

from config.settings import Settings
from tests.system.owner import new_owner
from tests.system.service import Service, environment, running
from tests.waiting import until
from tracker.ids import parse_id
from tracker.service.services import Services

RETENTIVE = ("-m", "tests.system.retentive")


def until_all_answer(services: Sequence[Service], status: int, destination: str = "") -> None:
    for service in services:
        until(partial(answers, service, status, destination))


def answers(service: Service, status: int, destination: str) -> bool:
    answer = service.get("/c/shared")
    return answer.status == status and answer.headers.get("location", "").startswith(destination)


async def test_a_link_made_on_one_opens_on_the_other_and_a_change_is_seen(
    settings: Settings, services: Services
) -> None:
    variables = environment(settings)
    with (
        running(variables, program=RETENTIVE) as one,
        running(variables, program=RETENTIVE) as other,
    ):
        owner = new_owner(variables)
        assert other.get("/c/shared").status == 404
        link = owner.create_link(one, slug="shared").json
        until_all_answer((other, one), 302, "https://shop.test/p?")

        link_id = parse_id("id", link["id"])
        await services.links.links.change(link_id, {"destination_url": "https://new.test/"})
        until_all_answer((one, other), 302, "https://new.test/?")

        await services.links.links.change(link_id, {"active": False})
        until_all_answer((one, other), 404)
