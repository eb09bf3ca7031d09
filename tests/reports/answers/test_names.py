"""Names of values are read in pieces, so that 100,000 of them do not hold up the event loop."""

import pytest

from tests.factories import create_link
from tracker.reports.answers import names
from tracker.reports.dimensions import NO_KEY
from tracker.service.services import Services


async def test_names_that_take_several_questions_are_all_there(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "_NAMES_AT_ONCE", 2)
    account = await services.accounts.accounts.create("Acme")
    links = [await create_link(services, account.id, f"link{number}") for number in range(5)]
    keys = [*(str(link.id) for link in links), NO_KEY["link"]]
    found = await names.stored_names(services.stores.mongodb.reads, "link", keys)
    assert found == {str(link.id): link.internal_name for link in links}
