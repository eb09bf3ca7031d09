"""The sample event is one that no receiver can take for a real one, and few are sent at once."""

import json
from contextlib import ExitStack

import pytest

from tests.conversions import scene
from tests.webhooks.sending import webhook_now
from tracker.errors import RateLimited, Unavailable
from tracker.ids import new_id
from tracker.services import Services
from tracker.webhooks.sample import MOST, OF_ACCOUNT, Samples, sample_payload


async def test_the_sample_has_an_id_that_no_event_has(services: Services) -> None:
    webhook = await scene.webhook(services, new_id())
    payload = sample_payload(await webhook_now(services, webhook), "tracker.test")
    assert json.loads(payload)["event_id"] == 0
    assert await services.event_ids.next() > 0


def test_an_account_has_few_places_and_all_together_have_a_bound() -> None:
    samples = Samples()
    with ExitStack() as sending:
        for _ in range(MOST // OF_ACCOUNT):
            account_id = new_id()
            for _ in range(OF_ACCOUNT):
                sending.enter_context(samples.place(account_id))
            with pytest.raises(RateLimited), samples.place(account_id):
                pass
        with pytest.raises(Unavailable), samples.place(new_id()):
            pass
    with samples.place(account_id):
        pass


def test_a_sample_that_fails_gives_its_place_back() -> None:
    samples, account_id = Samples(), new_id()
    for _ in range(OF_ACCOUNT + 1):
        with pytest.raises(ZeroDivisionError), samples.place(account_id):
            raise ZeroDivisionError
    assert not samples._of_account
