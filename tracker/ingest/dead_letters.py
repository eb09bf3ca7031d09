"""The dead letters: what the consumer could not store, until an operator replays or drops it.

A letter (an entry of the stream DEAD_LETTERS) has the fields that it had in the journal, and two
more: `id`, which it had there, and `reason`. Replaying moves it back without the two; records carry
ids, so that one of them which is stored by now counts once all the same.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError

from tracker.clicks.click import Click
from tracker.clock import moment
from tracker.db.keys import DEAD_LETTERS, JOURNAL, NOBODY
from tracker.ingest.drain import Record
from tracker.journal.stream import FORMAT

_PAGE = 20
"""Letters at a time, in Redis and in memory: one may be megabytes."""

# A full Redis refuses a script whose first write takes room, and an entry that could not be buried
# would stop the drain, the only one to make room. One that begins by deleting may go on.

# KEYS: a name that nobody uses, dead letters. ARGV: names and values of the letter's fields.
_ADD = """
redis.call('DEL', KEYS[1])
return redis.call('XADD', KEYS[2], '*', unpack(ARGV))
"""

# Moves the letters from one id to another, at most so many; answers how many. Whatever fails, a
# letter is in one of the streams: its deletion comes last, and an error ends the script before it.
# KEYS: dead letters, journal. ARGV: first id, last id, how many.
_REPLAY = """
local letters = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
for _, letter in ipairs(letters) do
  local entry = {}
  for i = 1, #letter[2], 2 do
    local name = letter[2][i]
    if name ~= 'id' and name ~= 'reason' then
      entry[#entry + 1] = name
      entry[#entry + 1] = letter[2][i + 1]
    end
  end
  redis.call('XADD', KEYS[2], '*', unpack(entry))
  redis.call('XDEL', KEYS[1], letter[1])
end
return #letters
"""

# Not a transaction, which a full Redis 7.0 refuses.
# KEYS: dead letters. Answers how many there were.
_DROP_ALL = """
local dropped = redis.call('XLEN', KEYS[1])
redis.call('UNLINK', KEYS[1])
return dropped
"""

_decoder = msgspec.msgpack.Decoder(list[Record])


class Letter(NamedTuple):
    """`entry_id` is the one in the journal. The numbers are None if it cannot be decoded."""

    id: str
    buried_at: datetime
    entry_id: str
    reason: str
    clicks: int | None
    events: int | None


class DeadLetters:
    """`redis` is a client that waits some seconds. Every method raises RedisError."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._add = redis.register_script(_ADD)

    async def add(self, letter: Mapping[bytes, bytes]) -> None:
        """Keep `letter`, also when Redis is full: the drain makes room only if it goes on."""
        try:
            fields: Any = letter
            await self._redis.xadd(DEAD_LETTERS, fields)
        except OutOfMemoryError:
            parts = [part for field in letter.items() for part in field]
            await self._add(keys=[NOBODY, DEAD_LETTERS], args=parts)

    async def count(self) -> int:
        return int(await self._redis.xlen(DEAD_LETTERS))

    async def after(self, letter_id: str | None, limit: int) -> list[Letter]:
        """Up to `limit` letters, oldest first: those after one of them, or from the first on."""
        letters: list[Letter] = []
        while len(letters) < limit:
            start = f"({letter_id}" if letter_id else "-"
            count = min(_PAGE, limit - len(letters))
            page: Any = await self._redis.xrange(DEAD_LETTERS, start, count=count)
            if not page:
                break
            letters += [_letter(one, fields) for one, fields in page]
            letter_id = letters[-1].id
        return letters

    async def replay(self, letter_id: str) -> bool:
        """Whether there was one to move back to the journal."""
        return bool(await self._replay(letter_id, letter_id))

    async def replay_all(self) -> AsyncIterator[int]:
        """Moves all there are now, and yields how many, time and again. One that a consumer buries
        once more meanwhile is not moved a second time."""
        newest: Any = await self._redis.xrevrange(DEAD_LETTERS, count=1)
        while newest and (moved := await self._replay("-", newest[0][0])):
            yield moved

    async def drop(self, letter_id: str) -> bool:
        """Whether there was one."""
        return bool(await self._redis.xdel(DEAD_LETTERS, letter_id))

    async def drop_all(self) -> int:
        dropped: Any = self._redis.eval(_DROP_ALL, 1, DEAD_LETTERS)
        return int(await dropped)

    async def _replay(self, first: str, last: str | bytes) -> int:
        moved: Any = self._redis.eval(_REPLAY, 2, DEAD_LETTERS, JOURNAL, first, last, _PAGE)
        return int(await moved)


def _letter(letter_id: bytes, fields: Mapping[bytes, bytes]) -> Letter:
    records = _records(fields)
    clicks = None if records is None else sum(isinstance(one, Click) for one in records)
    return Letter(
        id=letter_id.decode(),
        buried_at=moment(int(letter_id.partition(b"-")[0])),
        entry_id=_text(fields.get(b"id", b"")),
        reason=_text(fields.get(b"reason", b"")),
        clicks=clicks,
        events=None if records is None or clicks is None else len(records) - clicks,
    )


def _records(fields: Mapping[bytes, bytes]) -> list[Record] | None:
    try:
        return _decoder.decode(fields[FORMAT])
    except (KeyError, ValueError):
        return None


def _text(value: bytes) -> str:
    """In one line, without what a terminal would obey."""
    text = " ".join(value.decode(errors="replace").split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)
