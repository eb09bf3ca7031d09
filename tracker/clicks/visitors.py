"""Unique clicks: a visitor's first on a link and day, without storing who visits.

The drain calls it with the clicks of a batch.

- A visitor is a keyed hash of link, address and user agent. Days are in the account's time zone.
- The key is a random salt of the day. It lives 48 hours in Redis, shared by all processes, and
  cannot be recovered afterwards.
- Redis stores the first click of each visitor, so a replay of that click is first again.
"""

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from tracker.calendar import DEFAULT_ZONE, Calendar
from tracker.clicks.click import Click
from tracker.clock import day_of, moment
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import is_cluster
from tracker.stores.redis.command_connection import RedisCommandConnection
from tracker.stores.redis.memory_budget import Budget, OptionalWrite

TTL_SECONDS: Final = 48 * 3600
"""The lifetime of a salt and of its day's visitors."""

_SALT_BYTES: Final = 32
_SALT_CACHE_SECONDS: Final = 3600.0
"""Afterwards a process reads its salts from Redis again."""

_CLICKS_PER_SCRIPT: Final = 200
"""One script blocks Redis for half a millisecond, or one if all visitors are new. With 500, a full
service answered 5 % fewer clicks. With 100, a process that also drains waited for more answers. It
stored only three quarters of its clicks in time."""

_DAY_MS: Final = 24 * 3600 * 1000
_ID_BYTES: Final = 8
_FIRST: Final = ord("1")
_NOT_STORED: Final = b"2"

# Two bytes name a bucket, eight the visitor in it. Redis stores a bucket of up to 128 visitors as a
# list, about 25 bytes each; larger ones cost four times that. So 65,536 buckets are cheap up to 8
# million visitors a day.
_BUCKET_BYTES: Final = 2
_DIGEST_BYTES: Final = _BUCKET_BYTES + 8

# A full Redis refuses a script whose first write needs memory. That would stop the drain, which
# alone frees memory. A script that first deletes something (here an unused key) may continue.
_BEGIN: Final = "redis.call('DEL', KEYS[1])"

# KEYS: an unused one, the salt of a day. ARGV: a new salt, its time to live in seconds.
_SHARE_SALT: Final = f"""
{_BEGIN}
redis.call('SET', KEYS[2], ARGV[1], 'NX', 'EX', ARGV[2])
return redis.call('GET', KEYS[2])
"""

# Local names: a known visitor takes 2.2 µs with them, 2.5 without. ARGV: the time to live of
# buckets in seconds; 1 if new visitors are stored, else 0.
_BEGIN_ANSWER: Final = f"""
{_BEGIN}
local call, unpack, format = redis.call, struct.unpack, string.format
local seconds, stores, answer = ARGV[1], ARGV[2] == '1', {{}}
"""

# Adds 1 to the answer if `click` was the first of `visitor`, 0 if it was not, 2 if the visitor is
# new and not stored. A known visitor costs one HGET: HSETNX would take twice as long.
_ANSWER: Final = """
    local first = call('HGET', bucket, visitor)
    if not first and stores then
      first = click
      call('HSET', bucket, visitor, click)
      if call('TTL', bucket) < 0 then call('EXPIRE', bucket, seconds) end
    end
    answer[#answer + 1] = first == click and '1' or first and '0' or '2'
"""

# KEYS: an unused one. ARGV: as above; then for each day the prefix of its buckets' names, and its
# `Visits`. Returns one character a click, because a thousand replies are slow to build and to read.
# The names of buckets are built here, because sending them takes longer.
_REMEMBER: Final = f"""
{_BEGIN_ANSWER}
for day = 3, #ARGV, 2 do
  local clicks = ARGV[day + 1]
  for at = 1, #clicks, 18 do
    local number, visitor, click = unpack('>Hc8c8', clicks, at)
    local bucket = format('%s%04x', ARGV[day], number)
    {_ANSWER}
  end
end
return table.concat(answer)
"""

# The same for one part of a cluster's visitors. KEYS: an unused one, the bucket of each click.
# ARGV: as above, and for each click eight bytes of the visitor and eight of the click.
_REMEMBER_PART: Final = f"""
{_BEGIN_ANSWER}
local clicks = ARGV[3]
for number = 2, #KEYS do
  local bucket = KEYS[number]
  local visitor, click = unpack('c8c8', clicks, (number - 2) * 16 + 1)
  {_ANSWER}
end
return table.concat(answer)
"""


Calendars = Mapping[bytes, Calendar]
"""Calendars by account id. Missing accounts count in UTC."""

UTC_ONLY: Final[Calendars] = {}

Visits = Mapping[str, Sequence[bytes]]
"""Two bytes of the bucket, eight of the visitor and eight of the click, by day."""


class _Visit(NamedTuple):
    """A visit: its position in the batch, the key of its bucket, and its bytes there."""

    position: int
    bucket: str
    visit: bytes


class Visitors:
    """The visitors of the last two days, in Redis."""

    def __init__(self, redis: Redis, budget: Budget) -> None:
        self._budget = budget
        self._share_salt = redis.register_script(_SHARE_SALT)
        self._remembering = RedisCommandConnection(redis)
        self._turn = asyncio.Lock()
        self._is_cluster = is_cluster(redis)
        self._remember_part = redis.register_script(_REMEMBER_PART)
        self._salts: dict[str, bytes] = {}
        self._forget_at = 0.0

    async def first_clicks(
        self, clicks: Sequence[Click], calendars: Calendars = UTC_ONLY
    ) -> set[bytes]:
        """Return the ids of first clicks. While Redis is full, new visitors have none."""
        found: set[bytes] = set()
        for start in range(0, len(clicks), _CLICKS_PER_SCRIPT):
            found |= await self._first(clicks[start : start + _CLICKS_PER_SCRIPT], calendars)
        return found

    async def _first(self, clicks: Sequence[Click], calendars: Calendars) -> set[bytes]:
        days = _by_day(clicks, calendars)
        salts = await self.salts(days)
        has_room = self._budget.has_room(OptionalWrite.VISITOR)
        visits = {day: _visits(salts[day], of_day) for day, of_day in days.items()}
        run = self._run_script_by_part if self._is_cluster else self._run_script
        answer = await run(visits, has_room)
        if not has_room:
            self._budget.count_skipped(OptionalWrite.VISITOR, answer.count(_NOT_STORED))
        in_order = (click for of_day in days.values() for click in of_day)
        return {click.id for click, first in zip(in_order, answer, strict=True) if first == _FIRST}

    async def _run_script(self, visits: Visits, has_room: bool) -> bytes:
        arguments: list[str | bytes] = ["1", keys.never_set("visitors")]
        arguments += str(TTL_SECONDS), str(int(has_room))
        for day, of_day in visits.items():
            arguments += keys.visitors(day, ""), b"".join(of_day)
        async with self._turn:  # a drain has several consumers, and the connection one command
            answer = await self._remembering.execute_script(_REMEMBER, *arguments)
        return bytes(answer)

    async def _run_script_by_part(self, visits: Visits, has_room: bool) -> bytes:
        """Run the script for each part of the visitors on its own server."""
        parts = _by_part(visits)
        answers: list[Any] = await asyncio.gather(
            *(
                self._remember_part(
                    keys=[keys.never_set(part[0].bucket), *(one.bucket for one in part)],
                    args=[TTL_SECONDS, int(has_room), b"".join(one.visit for one in part)],
                )
                for part in parts
            )
        )
        answer = bytearray(sum(map(len, parts)))
        for part, answered in zip(parts, answers, strict=True):
            for one, first in zip(part, answered, strict=True):
                answer[one.position] = first
        return bytes(answer)

    async def salts(self, days: Iterable[str]) -> Mapping[str, bytes]:
        """Return the salts of some days, and maybe of others. Raises RedisError."""
        now = time.monotonic()
        if now > self._forget_at:
            self._salts = {}
            self._forget_at = now + _SALT_CACHE_SECONDS
        salts = self._salts  # others may forget them meanwhile
        for day in days:
            if day not in salts:
                salts[day] = await self._salt(day)
        return salts

    async def _salt(self, day: str) -> bytes:
        """Return the salt of `day`. The first process that needs it creates it."""
        new = secrets.token_bytes(_SALT_BYTES)
        names = [keys.never_set(keys.salt(day)), keys.salt(day)]
        salt: Any = await self._share_salt(keys=names, args=[new, TTL_SECONDS])
        return bytes(salt)


def _visits(salt: bytes, clicks: Sequence[Click]) -> list[bytes]:
    salted = blake2b(key=salt, digest_size=_DIGEST_BYTES)
    # The end of a UUID of version 7 is its random part.
    return [_digest(salted, click) + click.id[-_ID_BYTES:] for click in clicks]


def _by_day(clicks: Sequence[Click], calendars: Calendars) -> dict[str, list[Click]]:
    """Group clicks by day, named as in Redis keys. A day in UTC is `2026-01-31`."""
    by_number: defaultdict[int, list[Click]] = defaultdict(list)
    by_name: defaultdict[str, list[Click]] = defaultdict(list)
    for click in clicks:
        calendar = calendars.get(click.account_id) if calendars else None
        if calendar is None:
            by_number[click.at // _DAY_MS].append(click)
        else:
            at = moment(click.at)
            zone, day = calendar.zone_at(at), calendar.day_of(at).isoformat()
            by_name[day if zone == DEFAULT_ZONE else f"{zone}:{day}"].append(click)
    for number, found in by_number.items():
        by_name[day_of(moment(number * _DAY_MS))] += found
    return by_name


def _by_part(visits: Visits) -> list[list[_Visit]]:
    """Group visits by part of a cluster's visitors. A part has one hash slot."""
    parts: defaultdict[str, list[_Visit]] = defaultdict(list)
    position = 0
    for day, of_day in visits.items():
        for visit in of_day:
            bucket = visit[:_BUCKET_BYTES].hex()
            key = keys.visitors(day, bucket, part=bucket[0])
            parts[bucket[0]].append(_Visit(position, key, visit[_BUCKET_BYTES:]))
            position += 1
    return list(parts.values())


def _digest(salted: blake2b, click: Click) -> bytes:
    visitor = f"{click.address}\0{click.user_agent}".encode("utf-8", "surrogatepass")
    digest = salted.copy()  # cheaper than a new hash with the key
    digest.update(click.link_id + visitor)
    return digest.digest()
