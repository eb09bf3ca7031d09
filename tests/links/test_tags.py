"""Tags on real stores: one name in an account whatever its case, also under races."""

import asyncio

import msgspec
import pytest

from tests.paths import ROOT
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.service.services import Services

ACCOUNT = new_id()


EQUAL_TAGS = msgspec.json.decode((ROOT / "tests/console/modules/equal-tags.json").read_bytes())
"""Cases that the console's module is tested with too."""


async def test_names_that_differ_in_case_are_one(services: Services) -> None:
    for name, other in EQUAL_TAGS["equal"]:
        account = new_id()
        made = await services.links.tags.create(account, name)
        with pytest.raises(BadRequest, match="name: another tag"):
            await services.links.tags.create(account, other)
        assert await services.links.tags.page(account, 1, 25) == ([made], 1)


async def test_names_that_differ_otherwise_are_different_tags(services: Services) -> None:
    for names in EQUAL_TAGS["different"]:
        account = new_id()
        made = [await services.links.tags.create(account, name) for name in names]
        assert await services.links.tags.page(account, 1, 25) == (made[::-1], 2)


async def test_another_account_may_have_the_name_too(services: Services) -> None:
    made = [await services.links.tags.create(account, "a") for account in (ACCOUNT, new_id())]
    assert await services.links.tags.page(ACCOUNT, 1, 25) == (made[:1], 1)


async def test_one_of_simultaneous_creators_of_a_tag_wins(services: Services) -> None:
    outcomes = await asyncio.gather(
        *(services.links.tags.create(ACCOUNT, name) for name in ["Spring", "SPRING"] * 10),
        return_exceptions=True,
    )
    won = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(won) == 1
    assert sum(isinstance(outcome, BadRequest) for outcome in outcomes) == 19
    assert await services.links.tags.page(ACCOUNT, 1, 25) == (won, 1)


async def test_a_renamed_tag_frees_its_old_name_and_may_change_its_case(services: Services) -> None:
    made = await services.links.tags.create(ACCOUNT, "Spring")
    assert (await services.links.tags.rename(made.id, "SPRING")).name == "SPRING"
    assert (await services.links.tags.rename(made.id, "Summer")).name == "Summer"
    other = await services.links.tags.create(ACCOUNT, "spring")
    with pytest.raises(BadRequest, match="name: another tag"):
        await services.links.tags.rename(other.id, "summer")


async def test_a_deleted_tag_is_gone_and_its_name_free(services: Services) -> None:
    made = await services.links.tags.create(ACCOUNT, "Spring")
    await services.links.tags.delete(made.id)
    await services.links.tags.delete(made.id)
    assert await services.links.tags.find([made.id]) == {}
    with pytest.raises(NotFound, match="tag: not found"):
        await services.links.tags.rename(made.id, "Summer")
    await services.links.tags.create(ACCOUNT, "Spring")
