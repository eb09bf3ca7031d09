"""Appends to one stream of the journal, and what this process knows of the stream's server.

- With `replicas`, an append counts only if so many replicas of Redis have it: one that becomes the
  primary has only what was sent to it.
- An append whose answer was lost may be repeated: records carry ids, and storing is idempotent.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.journal.entry import VERSION, Encoded, JournalRecord, encode
from tracker.stores.breaker import Breaker
from tracker.stores.redis import keys
from tracker.stores.redis.command_connection import Command, RedisCommandConnection

REPLICA_MS: Final = 500
"""How long an append waits for the replicas; less than a request waits for Redis."""

# Appends unless one of the claims is held; returns the holder then. The time to live is written
# again, unchanged, because WAIT waits for what its own connection has written: replicas may not
# have the event of the holder yet.
# KEYS: stream, claims. ARGV: holder, format, payload, seconds that the claims live (0: not kept).
_APPEND_ONCE: Final = """
for i = 2, #KEYS do
  local holder = redis.call('GET', KEYS[i])
  if holder then
    redis.call('PEXPIRE', KEYS[i], redis.call('PTTL', KEYS[i]))
    return holder
  end
end
redis.call('XADD', KEYS[1], '*', ARGV[2], ARGV[3])
if ARGV[4] ~= '0' then
  for i = 2, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'EX', ARGV[4]) end
end
return ARGV[1]
"""

CLAIM_SECONDS: Final = 7 * 86_400
"""How long a claim lives that nobody drains."""


class Claim(NamedTuple):
    """A claim on `names` (Redis keys) for the first `holder` (an event id) that is appended.

    It is kept for `seconds`. 0: what others hold counts, and nothing is kept.
    """

    names: tuple[str, ...]
    holder: int
    seconds: int = CLAIM_SECONDS


class Claimed(NamedTuple):
    """A record that is appended unless its claim is held."""

    record: Encoded
    claim: Claim


Append = JournalRecord | Encoded | Claimed


class TooFewReplicas(RedisError):
    """An append that too few replicas have in time, so that a failover could lose it."""


class ServerBreakers(NamedTuple):
    """The breakers of a server: for its failures, and for those of its replicas."""

    failure: Breaker
    replication: Breaker


class Appender:
    """The way to one stream, on a server with these `breakers`.

    It appends one group at a time, and may replay at the same time.
    """

    def __init__(self, redis: Redis, stream: str, breakers: ServerBreakers, replicas: int) -> None:
        self.stream = stream
        self._redis = redis
        self._replicas = replicas
        self._breakers = breakers
        self._appending = RedisCommandConnection(redis, stream)
        self._replaying = RedisCommandConnection(redis, stream)

    def copy(self) -> "Appender":
        """Return another way to the same stream, for somebody else to append at the same time."""
        return Appender(self._redis, self.stream, self._breakers, self._replicas)

    @property
    def is_usable(self) -> bool:
        """Return whether the server took the last group, or a moment has passed since."""
        return not any(breaker.is_open for breaker in self._breakers)

    def record_failure(self, error: RedisError) -> None:
        """Leave the stream alone for a moment."""
        is_replication = isinstance(error, TooFewReplicas)
        failed = self._breakers.replication if is_replication else self._breakers.failure
        failed.record_failure(error)

    async def append(self, group: Sequence[Append]) -> Sequence[int | None]:
        """Append a group; return for each claim who holds it, and None for other records.

        Raises RedisError if Redis fails, or too few replicas have it.
        """
        plain = [item for item in group if not isinstance(item, Claimed)]
        if len(plain) == len(group):
            await self.append_payload(encode_group(plain))
            return [None] * len(group)
        commands = [self._append_once(item) for item in group if isinstance(item, Claimed)]
        if plain:
            commands.append(("XADD", self.stream, "*", VERSION, encode_group(plain)))
        holders = iter(await self._send(self._appending, *commands))
        return [int(next(holders)) if isinstance(item, Claimed) else None for item in group]

    async def append_payload(self, payload: bytes) -> None:
        """Append an encoded group without regard to its claims. Raises RedisError as `append`."""
        await self._send(self._appending, ("XADD", self.stream, "*", VERSION, payload))

    async def replay(self, payloads: Sequence[bytes]) -> None:
        """Append what was spooled, all or nothing. Raises RedisError as `append` does."""
        # A transaction is refused as a whole: a part that was taken would be sent again.
        appends: list[Command] = [("XADD", self.stream, "*", VERSION, one) for one in payloads]
        answers = await self._send(self._replaying, ("MULTI",), *appends, ("EXEC",))
        for refusal in answers[1 + len(appends)]:
            if isinstance(refusal, RedisError):
                raise refusal

    async def check(self) -> None:
        """Check that Redis takes writes, and has the replicas that appends need.

        Without them a replay would send the same entries again and again. Raises RedisError.
        """
        await self._send(self._replaying, ("SET", keys.probe(self.stream), "", "EX", "60"))

    def _append_once(self, item: Claimed) -> Command:
        names, holder, seconds = item.claim
        keys_of_script = (self.stream, *names)
        arguments = (str(holder), VERSION, encode([item.record]), str(seconds))
        return ("EVAL", _APPEND_ONCE, str(len(keys_of_script)), *keys_of_script, *arguments)

    async def _send(self, connection: RedisCommandConnection, *commands: Command) -> list[Any]:
        """Send commands together, and return the answers.

        Raises RedisError if one is refused, or too few replicas have what was written.
        """
        if not self._replicas:
            if len(commands) == 1:
                return [await connection.execute(*commands[0])]
            return await connection.execute_all(*commands)
        # WAIT is for the writes of its own connection.
        wait = ("WAIT", str(self._replicas), str(REPLICA_MS))
        *answers, replicas = await connection.execute_all(*commands, wait)
        if replicas < self._replicas:
            raise TooFewReplicas(f"{replicas} of {self._replicas} replicas have it")
        return answers


def encode_group(group: Sequence[Append]) -> bytes:
    """Return a group as the payload of one entry."""
    return encode([item.record if isinstance(item, Claimed) else item for item in group])
