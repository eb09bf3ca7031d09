"""The first answers to requests with an `Idempotency-Key`, which their repeats get again.

- An endpoint keeps its answer in the transaction of its effect, so a killed process leaves both or
  neither. Of requests at the same moment one commits, and the others find its answer.
- A conversion is not stored by a transaction. Its id is kept instead, before it is recorded: a
  repeat without an answer records it again with this id, and the drain stores an id once.
- Answers may hold secrets, so they are sealed. The key itself is not stored.
"""

import base64
import re
import zlib
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import msgspec
from pymongo.errors import DuplicateKeyError

from tracker.access.rate_limit import LimitScope, RateLimiter
from tracker.clock import now
from tracker.errors import BadRequest, ErrorCode, Unavailable
from tracker.stores.mongodb.account_lock import turn_of
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reseal import SealedFields
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.redis import keys
from tracker.stores.secret_box import SecretBox, UnreadableSecret

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"

MAX_KEY_CHARACTERS: Final = 255
WAIT_SECONDS: Final = 10.0
"""The wait for a request with the same key in this process. Others conflict in MongoDB."""

_NEW_KEYS: Final = LimitScope("idempotency_key", 100_000, 24 * 3600)
_RULE: Final = f"{HEADER}: must be 1 to {MAX_KEY_CHARACTERS} visible ASCII characters"
_BARE: Final = re.compile(r"[!#-~][!-~]*")
_QUOTED: Final = re.compile(r'"((?:[!#-\[\]-~]|\\["\\])+)"')
KEY_PATTERN: Final = f"^({_BARE.pattern}|{_QUOTED.pattern})$"
_RUNS: Final = f"{HEADER}: its first request still runs; try again"


class Once(msgspec.Struct, kw_only=True):
    """A request with a key, the answer that is kept, and the id that a conversion has already."""

    id: UUID
    account_id: UUID
    caller: UUID
    fingerprint: bytes
    answer: bytes | None = None
    event_id: int | None = None


def parse_key(values: Sequence[str]) -> str | None:
    """Return the key in the header's values; None without any. Quotes make no other key.

    Raises BadRequest if it breaks the rule.
    """
    if not values:
        return None
    quoted = _QUOTED.fullmatch(values[0])
    key = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else values[0]
    is_one = len(values) == 1 and (quoted or _BARE.fullmatch(key))
    if not is_one or len(key) > MAX_KEY_CHARACTERS:
        raise BadRequest(_RULE)
    return key


def once_for(account_id: UUID, caller: UUID, key: str, fingerprint: bytes) -> Once:
    """Return the request that a caller sends under a key."""
    name = sha256(account_id.bytes + caller.bytes + key.encode()).digest()
    fingerprint = sha256(name + fingerprint).digest()  # without the key nobody can guess bodies
    once_id = UUID(bytes=name[:16])
    return Once(id=once_id, account_id=account_id, caller=caller, fingerprint=fingerprint)


class FirstAnswers:
    """The first answers of all accounts. MongoDB removes them after a day."""

    def __init__(self, mongodb: MongoDB, box: SecretBox, limiter: RateLimiter) -> None:
        self._database = mongodb.database
        self._answers = mongodb["first_answers"]
        self._box = box
        self._limiter = limiter

    @property
    def sealed_fields(self) -> SealedFields:
        return SealedFields("first_answers", ("answer",), self._box)

    async def once(self, once: Once, work: Callable[[], Awaitable[object]]) -> bool:
        """Do `work`, which keeps the answer, unless it is kept; return whether it was.

        Raises BadRequest if the key belongs to another request, RateLimited for too many new keys,
        Unavailable if its first request still runs, and the errors of `work`.
        """
        async with turn_of(once.id, WAIT_SECONDS, _RUNS):
            if await self._find(once):
                return True
            # Of an account they would be used up by anyone who reads a postback key on a page.
            name = keys.rate_limit(_NEW_KEYS.name, str(once.caller))
            for usage in await self._limiter.count_scopes([(name, _NEW_KEYS)]):
                usage.check()
            try:
                await work()
            except Exception:
                # Another process may have done it at the same moment, or this one all but the end.
                if await self._find(once):
                    return True
                raise
        return False

    async def keep(self, once: Once, answer: bytes, session: MongoSession | None = None) -> None:
        """Store the answer. Raises DuplicateKeyError if another is kept."""
        packed = base64.b64encode(zlib.compress(answer, 1)).decode()
        kept = {**_fields(once), "answer": self._box.seal(once.id, packed)}
        same = {"_id": once.id, "fingerprint": once.fingerprint}
        unanswered = {**same, "answer": {"$exists": False}}
        await self._answers.update_one(unanswered, {"$set": kept}, upsert=True, session=session)
        once.answer = answer

    async def reserve(self, once: Once, event_id: int) -> int:
        """Keep the id of the conversion to record. Return the one that is kept."""
        try:
            await self._answers.insert_one({"_id": once.id, **_fields(once), "event_id": event_id})
        except DuplicateKeyError:
            await self._find(once)
            return once.event_id or event_id
        return event_id

    async def _find(self, once: Once) -> bool:
        """Find the answer, or the id of a conversion without one yet; return whether it has one.

        Raises BadRequest for another request.
        """

        async def find(session: MongoSession) -> Any:  # also what no majority has yet
            return await self._answers.find_one({"_id": once.id}, session=session)

        row = await run_in_transaction(self._database, find)
        if row is None:
            return False
        if row["fingerprint"] != once.fingerprint:
            message = f"{HEADER}: was sent with another request; send a new one"
            raise BadRequest(message, code=ErrorCode.IDEMPOTENCY_KEY_REUSED)
        once.event_id = row.get("event_id")
        if "answer" in row:
            once.answer = self._opened(once.id, row["answer"])
        return "answer" in row

    def _opened(self, key_id: UUID, sealed: str) -> bytes:
        try:
            return zlib.decompress(base64.b64decode(self._box.open(key_id, sealed)))
        except UnreadableSecret:
            raise Unavailable(f"{HEADER}: SECRET_KEY has changed since the answer") from None


def _fields(once: Once) -> dict[str, Any]:
    return {"account_id": once.account_id, "fingerprint": once.fingerprint, "at": now()}
