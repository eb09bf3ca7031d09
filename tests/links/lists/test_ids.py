"""The ids of a list, read in pieces."""

import pytest

from tests.factories import create_link
from tracker.accounts.accounts import Account
from tracker.links.lists import link_lists
from tracker.links.lists.filter import LinkFilter
from tracker.service.services import Services


async def test_ids_of_a_list_are_complete_however_many_are_read_at_once(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = await services.links.tags.create(account.id, "Spring")
    made = [
        (await create_link(services, account.id, f"s{number}", tags=[tag.id])).id
        for number in range(6)
    ]
    newest = [one.bytes for one in reversed(made)]
    lists = services.links.lists
    for at_once in (1, 2, 3, 6, 7):
        monkeypatch.setattr(link_lists, "_IDS_AT_ONCE", at_once)
        for wanted in (LinkFilter(), LinkFilter(tags=[tag.id]), LinkFilter(search="s")):
            for at_most in (4, 100):
                found = await lists.ids(account.id, wanted, at_most)
                assert list(map(bytes, found)) == newest[:at_most]
    assert await lists.ids(account.id, LinkFilter(archived=True), 100) == []
