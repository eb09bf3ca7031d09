"""Open answers are checked together."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from uuid import UUID

import pytest

from tests.live.watching import guarded
from tests.waiting import eventually
from tracker.access import open_answers
from tracker.access.open_answers import Access
from tracker.access.principal import Principal
from tracker.ids import new_id
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def test_a_check_is_two_queries_however_many_answers_are_open(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_answers, "CHECK_SECONDS", 0.01)
    account_id, asked = new_id(), list[Sequence[UUID]]()
    keys = [(await services.access.api_keys.create(account_id, "a key"))[0] for _ in range(3)]
    find = services.access.api_keys.principals_of

    async def counted(ids: Sequence[UUID]) -> dict[UUID, Principal]:
        asked.append(ids)
        return await find(ids)

    monkeypatch.setattr(services.access.api_keys, "principals_of", counted)
    ended: list[UUID] = []
    async with guarded(services):
        with ExitStack() as stack:
            for key in keys * 20:
                access = Access(key.id, account_id, "links:read", is_key=True)
                end = services.access.open_answers.open(access, partial(ended.append, key.id))
                stack.enter_context(end)
            await services.access.api_keys.revoke(keys[0].id)
            await eventually(lambda: len(ended) >= 20)
        assert set(ended) == {keys[0].id}
        assert all(sorted(ids) == sorted(key.id for key in keys) for ids in asked)
