"""The stored click: which fields it has, and when it has the address."""

import pytest

from tests.factories import make_click
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment


@pytest.mark.parametrize("store_ip", [False, True])
def test_the_address_is_kept_only_if_the_operator_asks(store_ip: bool) -> None:
    click = make_click()
    document = Enrichment(Countries(""), store_ip).document(click)
    assert document.get("address") == (click.address if store_ip else None)
    assert (click.address in str(document)) == store_ip
