"""The dead letters: entries that could not be stored, until an operator replays or drops them.

A letter (an entry of the stream DEAD_LETTERS) has the fields of the journal entry and two more: its
`id` there, and the `reason`. Replaying moves it back without these two. Records carry ids, so a
record that was stored in the meantime still counts once.
"""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError

from tracker.clock import moment
from tracker.db.keys import DEAD_LETTERS, JOURNAL, NEVER_SET
from tracker.journal.entry import EntryDecoder, Fields, Kind

_LETTERS_PER_COMMAND: Final = 20
"""Letters of one command, to limit its time in Redis and its memory: a letter may be megabytes."""

# A full Redis refuses a script whose first write needs memory, and an entry that cannot become a
# letter would stop the drain, which alone frees memory. A script that begins with a deletion may
# continue.

# KEYS: a key that nobody uses, dead letters. ARGV: names and values of the letter's fields.
_ADD = """
redis.call('DEL', KEYS[1])
return redis.call('XADD', KEYS[2], '*', unpack(ARGV))
"""

# Moves up to a number of letters between two ids, and returns how many it moved. A letter is always
# in one of the streams: its deletion comes last, and an error ends the script before it.
# KEYS: dead letters, journal. ARGV: first id, last id, number.
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

# Deletes all letters and returns how many there were. Not a transaction, which a full Redis 7.0
# refuses. KEYS: dead letters.
_DROP_ALL = """
local dropped = redis.call('XLEN', KEYS[1])
redis.call('UNLINK', KEYS[1])
return dropped
"""


class Letter(NamedTuple):
    """A dead letter; `entry_id` is the id that it had in the journal.

    `kinds` counts its records by type; it is None if the letter cannot be decoded.
    """

    id: str
    dead_since: datetime
    entry_id: str
    reason: str
    kinds: Counter[type] | None


class DeadLetters(Generic[Kind]):
    """The stream of dead letters, whose records `decoder` decodes.

    The timeout of `redis` is some seconds. Every method raises RedisError if Redis fails.
    """

    def __init__(self, redis: Redis, decoder: EntryDecoder[Kind]) -> None:
        self._redis = redis
        self._decoder = decoder
        self._add = redis.register_script(_ADD)

    async def add(self, entry_id: bytes, fields: Fields, reason: str) -> None:
        """Add an entry of the journal, even if Redis is full: the drain has to continue."""
        letter: Any = {**fields, b"id": entry_id, b"reason": reason.encode(errors="replace")}
        try:
            await self._redis.xadd(DEAD_LETTERS, letter)
        except OutOfMemoryError:
            parts = [part for field in letter.items() for part in field]
            await self._add(keys=[NEVER_SET, DEAD_LETTERS], args=parts)

    async def count(self) -> int:
        """Return the number of letters."""
        return int(await self._redis.xlen(DEAD_LETTERS))

    async def read_after(self, letter_id: str | None, limit: int) -> list[Letter]:
        """Return up to `limit` letters, oldest first, after `letter_id` if it is given."""
        letters: list[Letter] = []
        while len(letters) < limit:
            start = f"({letter_id}" if letter_id else "-"
            count = min(_LETTERS_PER_COMMAND, limit - len(letters))
            page: Any = await self._redis.xrange(DEAD_LETTERS, start, count=count)
            if not page:
                break
            letters += [self._letter(one, fields) for one, fields in page]
            letter_id = letters[-1].id
        return letters

    async def replay(self, letter_id: str) -> bool:
        """Move a letter back to the journal. Return whether there was one."""
        return bool(await self._replay(letter_id, letter_id))

    async def replay_all(self) -> AsyncIterator[int]:
        """Move all letters back to the journal. Yield the number moved after each command.

        A letter that becomes dead again meanwhile is not moved a second time.
        """
        newest: Any = await self._redis.xrevrange(DEAD_LETTERS, count=1)
        while newest and (moved := await self._replay("-", newest[0][0])):
            yield moved

    async def drop(self, letter_id: str) -> bool:
        """Delete a letter. Return whether there was one."""
        return bool(await self._redis.xdel(DEAD_LETTERS, letter_id))

    async def drop_all(self) -> int:
        """Delete all letters. Return their number."""
        dropped: Any = self._redis.eval(_DROP_ALL, 1, DEAD_LETTERS)
        return int(await dropped)

    async def _replay(self, first: str, last: str | bytes) -> int:
        limits = first, last, _LETTERS_PER_COMMAND
        moved: Any = self._redis.eval(_REPLAY, 2, DEAD_LETTERS, JOURNAL, *limits)
        return int(await moved)

    def _letter(self, letter_id: bytes, fields: Fields) -> Letter:
        return Letter(
            id=letter_id.decode(),
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


def _printable(value: bytes) -> str:
    """Return the text in one line, without characters that control a terminal."""
    text = " ".join(value.decode(errors="replace").split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)
