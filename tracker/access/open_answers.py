"""Long answers, such as streams and exports, end with the access that opened them.

Every second a process checks the access of all its open answers with two queries. While it cannot
check, answers stay open but send nothing (`wait_until_checked`).

Guarantee: nothing is sent two seconds after the access has ended.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from uuid import UUID

import structlog
from pymongo.errors import PyMongoError

from tracker.access.api_keys import ApiKeys
from tracker.access.principal import Principal
from tracker.access.sessions import Sessions
from tracker.loops import sleep_in_step

log = structlog.get_logger(__name__)

CHECK_SECONDS: Final = 1.0
UNCHECKED_SECONDS: Final = 2.0
"""Answers still send for this long after the last check."""


class Access(NamedTuple):
    """The access that opened an answer: a session, or an API key if `is_key`."""

    id: UUID
    account_id: UUID
    scope: str | None
    is_key: bool


class OpenAnswers:
    """The open answers of a process."""

    def __init__(self, sessions: Sessions, api_keys: ApiKeys) -> None:
        self._sessions = sessions
        self._api_keys = api_keys
        self._answers: list[tuple[Access, Callable[[], None]]] = []
        self._opened = asyncio.Event()
        self._checked = asyncio.Event()
        self._checked_at = -math.inf

    @property
    def are_checked(self) -> bool:
        return time.monotonic() - self._checked_at < UNCHECKED_SECONDS

    @contextmanager
    def open(self, access: Access, end: Callable[[], None]) -> Iterator[None]:
        """Register an answer whose access was just checked; `end` is called if the access ends."""
        answer = (access, end)
        if not self._answers:
            self._checked_at = time.monotonic()
        self._answers.append(answer)
        self._opened.set()
        try:
            yield
        finally:
            self._answers.remove(answer)
            if not self._answers:
                self._opened.clear()

    async def wait_until_checked(self) -> None:
        """Wait until the last check is recent."""
        while not self.are_checked:
            self._checked.clear()
            await self._checked.wait()

    async def guard(self) -> None:
        """End answers whose access has ended, until cancelled."""
        while True:
            await self._opened.wait()
            at = time.monotonic()
            try:
                await self._end_unauthorized()
                self._checked_at = at
                self._checked.set()
            except (PyMongoError, OSError, TimeoutError) as error:
                log.warning("open answers are not checked", error=type(error).__name__)
            await sleep_in_step(CHECK_SECONDS)

    async def _end_unauthorized(self) -> None:
        answers = tuple(self._answers)
        needed = {access for access, _ in answers}
        sessions = await self._sessions.principals_of([one.id for one in needed if not one.is_key])
        api_keys = await self._api_keys.principals_of([one.id for one in needed if one.is_key])
        for access, end in answers:
            if not _allows(access, (api_keys if access.is_key else sessions).get(access.id)):
                end()


def _allows(access: Access, principal: Principal | None) -> bool:
    """Return whether the principal still has the access. It is None if key or session has ended."""
    if principal is None or principal.account_id != access.account_id:
        return False
    return access.scope is None or principal.covers([access.scope])
