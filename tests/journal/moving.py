"""A journal whose Redis is another from now on, such as one that does not answer."""

import pytest
from redis.asyncio import Redis

from tracker.journal.journal import Journal
from tracker.stores.redis.command_connection import RedisCommandConnection


def move_journal(journal: Journal, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_redis", redis)
    appender = journal._appender
    for name in ("_appending", "_replaying", "_limiting"):
        monkeypatch.setattr(appender, name, RedisCommandConnection(redis, appender.key))
