"""Passwords as Argon2id hashes, which threads of their own compute.

The parameters are OWASP's minimum (Password Storage Cheat Sheet): 19 MiB, two passes, one lane. A
hash takes 31 ms of a core; the library's default takes 231. Two at once take at most 38 MiB.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tracker.errors import BadRequest, Unavailable

MIN_CHARACTERS: Final = 12
MAX_CHARACTERS: Final = 256
"""A limit, because every character is hashed."""

THREADS: Final = 2
MAX_WAITING: Final = 64
"""Passwords that may wait for a thread: a second's work. Beyond it the answer is 503."""

_RETRY_SECONDS: Final = 2
_MEMORY_KIB: Final = 19 * 1024
_PASSES: Final = 2
_LANES: Final = 1

_DUMMY_HASH: Final = (
    "$argon2id$v=19$m=19456,t=2,p=1$NgGW39+obEFjKYeOs2DBWQ"
    "$YqUDRDA+p45OAnAdQZlYGk4WJZNYoXq7/slKRlQmrGA"
)
"""The hash of a forgotten random text, with the same parameters."""

Result = TypeVar("Result")


class Passwords:
    """The hashing of passwords, with a bounded queue."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(_PASSES, _MEMORY_KIB, _LANES)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="password")
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """Return the hash of a checked password. Raises Unavailable if too many are waiting."""
        return await self._run(lambda: self._hasher.hash(password))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Return whether `password` matches the hash. Raises Unavailable if too many are waiting.

        Without a hash it takes the same time, which hides whether a person exists.
        """
        if len(password) > MAX_CHARACTERS:
            password = ""
        matches = await self._run(lambda: self._matches(stored or _DUMMY_HASH, password))
        return matches and stored is not None

    def is_outdated(self, stored: str) -> bool:
        return self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _matches(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], Result]) -> Result:
        if self._waiting >= MAX_WAITING:
            raise Unavailable(
                "password: too many people sign in at once; try again",
                {"Retry-After": str(_RETRY_SECONDS)},
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def check_new_password(password: str, field: str = "password") -> None:
    """Check a new password. Raises BadRequest naming `field` if it is too short or too long."""
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        raise BadRequest(f"{field}: {MIN_CHARACTERS} to {MAX_CHARACTERS} characters")
