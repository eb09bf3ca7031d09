"""The dead letters: entries that could not be stored, until an operator replays or drops them.

A letter is a journal entry plus its `id` there and the `reason`. A replayed record still counts
once. In a Redis Cluster each stream keeps its letters on its own server: a failover that loses a
letter still has the entry. Elsewhere one stream, DEAD_LETTERS, has all.
"""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError

from tracker.clock import moment
from tracker.journal.entry import AnyRecord, EntryDecoder, Fields
from tracker.journal.partitions import MAX_PARTITIONS
from tracker.stores.redis.cluster import is_cluster
from tracker.stores.redis.keys import (
    DEAD_LETTERS,
    JOURNAL,
    dead_letters,
    hash_tag,
    never_set,
    streams,
)

_LETTERS_PER_COMMAND: Final = 20
"""Letters of one command, to limit its time in Redis and its memory: a letter may be megabytes."""

# KEYS: an unused key, dead letters. ARGV: names and values of the letter's fields.
_ADD = """
redis.call('DEL', KEYS[1])
return redis.call('XADD', KEYS[2], '*', unpack(ARGV))
"""

# Moves a number of letters between two ids, and returns how many. A letter is never lost: its
# deletion comes last. KEYS: dead letters, journal. ARGV: first id, last id, number.
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

# Not a transaction, which a full Redis 7.0 refuses. KEYS: dead letters.
_DROP_ALL = """
local dropped = redis.call('XLEN', KEYS[1])
redis.call('UNLINK', KEYS[1])
return dropped
"""


class DeadLetter(NamedTuple):
    """A dead letter; `id` is its own, in a cluster after its stream: `1/1767000000000-0`.

    `entry_id` is its id in the journal. `kinds` is None if the letter cannot be decoded.
    """

    id: str
    dead_since: datetime
    entry_id: str
    reason: str
    kinds: Counter[type] | None


class DeadLetters(Generic[AnyRecord]):
    """The dead letters, whose records `decoder` decodes."""

    def __init__(self, redis: Redis, decoder: EntryDecoder[AnyRecord]) -> None:
        self._redis = redis
        self._decoder = decoder
        self._add = redis.register_script(_ADD)
        self._streams = streams_of_letters(redis)

    async def add(self, stream: str, entry_id: bytes, fields: Fields, reason: str) -> None:
        """Add an entry of a stream, even if Redis is full: drains have to continue."""
        letter: Any = {**fields, b"id": entry_id, b"reason": reason.encode(errors="replace")}
        letters = dead_letters(stream) if is_cluster(self._redis) else DEAD_LETTERS
        try:
            await self._redis.xadd(letters, letter)
        except OutOfMemoryError:
            parts = [part for field in letter.items() for part in field]
            await self._add(keys=[never_set(letters), letters], args=parts)

    async def count(self) -> int:
        return await count_letters(self._redis)

    async def read_after(self, letter_id: str | None, limit: int) -> list[DeadLetter]:
        """Return up to `limit` letters, oldest first, after `letter_id` if it is given."""
        letters: list[DeadLetter] = []
        left = list(self._streams)
        after = None
        if letter_id:
            stream, after = self._locate(letter_id)
            left = left[left.index(stream) :] if stream in left else []
        while left and len(letters) < limit:
            start = f"({after}" if after else "-"
            count = min(_LETTERS_PER_COMMAND, limit - len(letters))
            page: Any = await self._redis.xrange(left[0], start, count=count)
            if page:
                letters += [self._letter(left[0], one, fields) for one, fields in page]
                after = page[-1][0].decode()
            else:
                left, after = left[1:], None
        return letters

    async def replay(self, letter_id: str) -> bool:
        stream, own_id = self._locate(letter_id)
        return stream in self._streams and bool(await self._replay(stream, own_id, own_id))

    async def replay_all(self) -> AsyncIterator[int]:
        """Move all letters back to the journal. Yield the number moved after each command.

        A letter that becomes dead again meanwhile is not moved a second time.
        """
        for stream in self._streams:
            newest: Any = await self._redis.xrevrange(stream, count=1)
            while newest and (moved := await self._replay(stream, "-", newest[0][0])):
                yield moved

    async def drop(self, letter_id: str) -> bool:
        stream, own_id = self._locate(letter_id)
        return stream in self._streams and bool(await self._redis.xdel(stream, own_id))

    async def drop_all(self) -> int:
        pipeline = self._redis.pipeline(transaction=False)
        for stream in self._streams:
            pipeline.eval(_DROP_ALL, 1, stream)
        return sum(await pipeline.execute())

    async def _replay(self, stream: str, first: str, last: str | bytes) -> int:
        limits = first, last, _LETTERS_PER_COMMAND
        moved: Any = self._redis.eval(_REPLAY, 2, stream, self._streams[stream], *limits)
        return int(await moved)

    def _locate(self, letter_id: str) -> tuple[str, str]:
        tag, named, own_id = letter_id.rpartition("/")
        return (dead_letters(tag) if named else DEAD_LETTERS), own_id

    def _letter(self, stream: str, letter_id: bytes, fields: Fields) -> DeadLetter:
        prefix = f"{hash_tag(stream)}/" if is_cluster(self._redis) else ""
        return DeadLetter(
            id=prefix + letter_id.decode(),
            dead_since=moment(int(letter_id.partition(b"-")[0])),
            entry_id=_printable(fields.get(b"id", b"")),
            reason=_printable(fields.get(b"reason", b"")),
            kinds=self._kinds(fields),
        )

    def _kinds(self, fields: Fields) -> Counter[type] | None:
        try:
            return Counter[type](map(type, self._decoder.decode(fields)))
        except ValueError:
            return None


def streams_of_letters(redis: Redis) -> dict[str, str]:
    """Return the streams of dead letters, each with its journal stream."""
    if not is_cluster(redis):
        return {DEAD_LETTERS: JOURNAL}
    return {dead_letters(stream): stream for stream in streams(MAX_PARTITIONS)}


async def count_letters(redis: Redis) -> int:
    pipeline = redis.pipeline(transaction=False)
    for stream in streams_of_letters(redis):
        pipeline.xlen(stream)
    return sum(await pipeline.execute())


def _printable(value: bytes) -> str:
    """Return the text in one line, without characters that control a terminal."""
    text = " ".join(value.decode(errors="replace").split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)
