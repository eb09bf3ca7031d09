"""Appends to the streams of one server, and the state of that server for this process.

An append whose answer was lost may be repeated: records carry ids, and storing is idempotent. With
`replicas`, an append counts only if so many have it: a failover to one of them keeps it.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.errors import Unavailable
from tracker.journal.entry import VERSION, EncodedRecord, JournalRecord, encode
from tracker.stores.batch import Batch
from tracker.stores.breaker import Breaker
from tracker.stores.redis import keys
from tracker.stores.redis.command_connection import Command, RedisCommandConnection

REPLICA_MS: Final = 500
"""How long an append waits for the replicas; less than a request waits for Redis."""

# Returns the holder of the first held claim among some keys, or nothing. Rewrites its time to live,
# because WAIT covers only its own connection's writes: replicas may not have the holder's record.
_HELD: Final = """
local taken = {}
local function held(first, last)
  for i = first, last do
    local holder = taken[KEYS[i]] or redis.call('GET', KEYS[i])
    if holder then
      redis.call('PEXPIRE', KEYS[i], redis.call('PTTL', KEYS[i]))
      return holder
    end
  end
end
"""

# Appends the records whose claims nobody holds, as one entry; returns each one's holder. Claims are
# set last: none is left of an append that was refused. KEYS: stream, the claims of each record.
# ARGV: format; of each record, number of claims, holder, seconds that they live (0: not kept),
# payload.
_APPEND_ONCE: Final = f"""
{_HELD}
local holders, records, claims, last = {{}}, {{}}, {{}}, 1
for i = 2, #ARGV, 4 do
  local first, own, seconds = last + 1, ARGV[i + 1], ARGV[i + 2]
  last = last + ARGV[i]
  local holder = held(first, last)
  if not holder then
    holder = own
    records[#records + 1] = ARGV[i + 3]
    for k = first, seconds == '0' and 0 or last do
      taken[KEYS[k]] = own
      claims[#claims + 1] = {{KEYS[k], own, 'EX', seconds}}
    end
  end
  holders[#holders + 1] = holder
end
local number = #records
if number > 0 then
  local size = number < 16 and string.char(144 + number) or struct.pack('>BH', 220, number)
  redis.call('XADD', KEYS[1], '*', ARGV[1], size .. table.concat(records))
  for _, claim in ipairs(claims) do redis.call('SET', unpack(claim)) end
end
return holders
"""

CLAIM_SECONDS: Final = 7 * 86_400
"""Time to live of a claim whose event is not drained, and of a counter since its last use."""

# Appends a record unless its limit is used up, and counts it. A counter holds on the server that
# counted, for a version: else -1, until the caller says what is stored; the larger number counts.
# Another server may lack uses that are stored, and have some that are not: -2, until all are. If a
# claim is held, its holder is the answer. KEYS: stream, counter and claims of each. ARGV: format,
# seconds that counters live; of each number of claims, holder, seconds that they live, limit, uses,
# version, stored uses (empty: not known), payload (empty: none).
_APPEND_LIMITED: Final = f"""
{_HELD}
local info, states, last_key = redis.pcall('INFO', 'replication'), {{}}, 0
local server = type(info) == 'string' and string.match(info, 'master_replid:(%w+)') or ''
for i = 3, #ARGV, 8 do
  local claims, holder, seconds, limit, uses, version, known, payload = unpack(ARGV, i, i + 7)
  local stream, counter = KEYS[last_key + 1], KEYS[last_key + 2]
  local first = last_key + 3
  last_key = last_key + 2 + claims
  local used, mark, last = unpack(redis.call('HMGET', counter, 'used', 'mark', 'last'))
  local waits, state = nil, held(first, last_key)
  if mark and string.sub(mark, 1, #server) ~= server then
    last = last or (redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1] or {{'0-1'}})[1]
    redis.call('HSET', counter, 'last', last)
    waits = redis.call('XRANGE', stream, '-', last, 'COUNT', 1)[1]
  end
  if known ~= '' and not waits then
    used, mark = string.format('%.0f', math.max(used or 0, known)), server .. version
    redis.call('HSET', counter, 'used', used, 'mark', mark)
    redis.call('HDEL', counter, 'last')
  end
  if state then
  elseif mark ~= server .. version then
    state = waits and -2 or -1
  elseif tonumber(used) >= tonumber(limit) then
    state = 0
  else
    if payload ~= '' then redis.call('XADD', stream, '*', ARGV[1], payload) end
    state = redis.call('HINCRBY', counter, 'used', uses) < tonumber(limit) and 1 or 2
    for k = first, last_key do redis.call('SET', KEYS[k], holder, 'EX', seconds) end
  end
  states[#states + 1] = state
  redis.call('EXPIRE', counter, ARGV[2])
end
return states
"""

BEHIND, UNKNOWN, USED_UP, OPEN, LAST = range(-2, 3)
"""What became of a limited append. After UNKNOWN its caller has to say the stored uses. A larger
number is the holder of its claim."""


class Claim(NamedTuple):
    """A claim on `names` (Redis keys) for the id `holder`. With 0 `seconds` it is not kept."""

    names: tuple[str, ...]
    holder: int
    seconds: int = CLAIM_SECONDS


NO_CLAIM: Final = Claim((), 0, 0)


class ClaimedRecord(NamedTuple):
    """A record that is appended unless its claim is held."""

    record: EncodedRecord
    claim: Claim


PlainRecord = JournalRecord | EncodedRecord


class AppendItem(NamedTuple):
    """A record, and the stream that it goes to."""

    stream: str
    record: PlainRecord | ClaimedRecord


class TooFewReplicas(RedisError):
    """Too few replicas have an append in time, so that a failover could lose it."""


class Appender:
    """The connections to the server of `key`. It appends one group at a time, replays meanwhile.

    `failed` is the breaker of the server, `lagging` that of its replicas.
    """

    def __init__(
        self, redis: Redis, key: str, failed: Breaker, lagging: Breaker, replicas: int
    ) -> None:
        self.key = key
        self._redis = redis
        self._replicas = replicas
        self._failed = failed
        self._lagging = lagging
        self._appending = RedisCommandConnection(redis, key)
        self._replaying = RedisCommandConnection(redis, key)
        self._limiting = RedisCommandConnection(redis, key, repeats=False)
        self.limited = Batch[tuple[Command, Command], int](self._append_limited)

    def copy(self) -> "Appender":
        return Appender(self._redis, self.key, self._failed, self._lagging, self._replicas)

    @property
    def is_usable(self) -> bool:
        """Return whether the server took the last group, or a moment has passed since."""
        return not (self._failed.is_open or self._lagging.is_open)

    def record_failure(self, error: RedisError) -> None:
        """Avoid the server for a moment."""
        breaker = self._lagging if isinstance(error, TooFewReplicas) else self._failed
        breaker.record_failure(error)

    async def append(self, group: Sequence[AppendItem]) -> Sequence[int | None]:
        """Append a group; return each claim's holder, and None for other records.

        Raises RedisError if Redis fails, or too few replicas have the group.
        """
        plain: dict[str, list[PlainRecord]] = {}
        claimed: dict[str, list[ClaimedRecord]] = {}
        for stream, record in group:
            if isinstance(record, ClaimedRecord):
                claimed.setdefault(stream, []).append(record)
            elif stream in plain:
                plain[stream].append(record)
            else:
                plain[stream] = [record]
        commands = [_append_once(stream, records) for stream, records in claimed.items()]
        commands += (_append(stream, encode(records)) for stream, records in plain.items())
        answers = await self._send(self._appending, *commands)
        if not claimed:
            return [None] * len(group)
        holders = dict(zip(claimed, map(iter, answers), strict=False))
        return [
            int(next(holders[stream])) if isinstance(record, ClaimedRecord) else None
            for stream, record in group
        ]

    async def _append_limited(self, group: Sequence[tuple[Command, Command]]) -> Sequence[int]:
        """Append by one command: a part of several may run, and again after MOVED."""
        names = [name for each, _ in group for name in each]
        arguments = [VERSION, str(CLAIM_SECONDS), *(one for _, each in group for one in each)]
        command = ("EVAL", _APPEND_LIMITED, str(len(names)), *names, *arguments)
        try:
            if self.is_usable:
                return list(map(int, (await self._send(self._limiting, command))[0]))
        except RedisError as error:
            self.record_failure(error)
        raise Unavailable("storage is unavailable; try again")

    async def append_payload(self, stream: str, payload: bytes) -> None:
        await self._send(self._appending, _append(stream, payload))

    async def replay(self, stream: str, payloads: Sequence[bytes]) -> None:
        """Append spooled entries, all or nothing."""
        # A transaction is refused as a whole: a part that was taken would be sent again.
        appends = [_append(stream, one) for one in payloads]
        answers = await self._send(self._replaying, ("MULTI",), *appends, ("EXEC",))
        for refusal in answers[1 + len(appends)]:
            if isinstance(refusal, RedisError):
                raise refusal

    async def check(self) -> None:
        """Check that a replay can succeed: Redis takes writes, and has enough replicas."""
        await self._send(self._replaying, ("SET", keys.probe(self.key), "", "EX", "60"))

    async def _send(self, connection: RedisCommandConnection, *commands: Command) -> list[Any]:
        if not self._replicas:
            if len(commands) == 1:
                return [await connection.execute(*commands[0])]
            return await connection.execute_all(*commands)
        wait = ("WAIT", str(self._replicas), str(REPLICA_MS))
        *answers, replicas = await connection.execute_all(*commands, wait)
        if replicas < self._replicas:
            raise TooFewReplicas(f"{replicas} of {self._replicas} replicas have it")
        return answers


def encode_group(group: Sequence[AppendItem]) -> bytes:
    records = (item.record for item in group)
    return encode([one.record if isinstance(one, ClaimedRecord) else one for one in records])


def _append(stream: str, payload: bytes) -> Command:
    return ("XADD", stream, "*", VERSION, payload)


def _append_once(stream: str, items: Sequence[ClaimedRecord]) -> Command:
    names = [name for item in items for name in item.claim.names]
    arguments: list[bytes | str] = [VERSION]
    for record, (own, holder, seconds) in items:
        arguments += str(len(own)), str(holder), str(seconds), bytes(record)
    return ("EVAL", _APPEND_ONCE, str(1 + len(names)), stream, *names, *arguments)
