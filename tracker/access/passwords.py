"""Passwords as Argon2id hashes, which threads of their own compute.

The parameters are OWASP's minimum (Password Storage Cheat Sheet): 19 MiB, two passes, one lane. A
hash takes 31 ms of a core; the library's default takes 231. Two at once take at most 38 MiB.

Links may be imported with hashes of other programs (`is_supported_hash`). The first right password
is hashed anew. Until then a try takes as long as the hash's cost says, 0.5 s at most.
"""

import asyncio
import contextlib
import os
import re
import threading
from base64 import urlsafe_b64decode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import pbkdf2_hmac
from hmac import compare_digest
from typing import Final, TypeVar

import bcrypt
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

_ARGON2: Final = "$argon2id$"
_BCRYPT: Final = re.compile(r"\$2[aby]\$(0[4-9]|1[0-3])\$[./\w]{21}[.Oeu][./\w]{31}", re.ASCII)
_BCRYPT_BYTES: Final = 72
"""bcrypt ignores what follows."""

_PBKDF2: Final = re.compile(
    r"pbkdf2-sha256\$([1-9]\d{0,5}|1000000)\$((?:[\w-]{4}){0,20}[\w-]{2,4})"
    r"\$((?:[\w-]{4}){5,20}[\w-]{2,4})",
    re.ASCII,
)

Result = TypeVar("Result")


def _give_way() -> None:
    """Let this thread compute only while no request waits for its core."""
    with contextlib.suppress(OSError):  # a thread has a priority of its own on Linux alone
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


def is_supported_hash(text: str) -> bool:
    """Return whether an imported hash can be verified.

    It is bcrypt's, of cost 4 to 13; or `pbkdf2-sha256$<iterations>$<salt>$<hash>`: a million at
    most, a salt of 1 to 63 bytes and a hash of 16 to 63, in base64url without padding.
    """
    return any(one.fullmatch(text) for one in (_BCRYPT, _PBKDF2))


class Passwords:
    """The hashing of passwords, with a bounded queue. Each object has `threads` of its own."""

    def __init__(self, threads: int = THREADS) -> None:
        self._hasher = PasswordHasher(_PASSES, _MEMORY_KIB, _LANES)
        self._threads = ThreadPoolExecutor(threads, "password", _give_way)
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
        """Return whether a hash that was verified is of another program or of other parameters."""
        return not stored.startswith(_ARGON2) or self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _matches(self, stored: str, password: str) -> bool:
        if not stored.startswith(_ARGON2):
            return _matches_imported(stored, password.encode(errors="replace"))
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], Result]) -> Result:
        if self._waiting >= MAX_WAITING:
            raise Unavailable(
                "password: too many are checked at once; try again",
                {"Retry-After": str(_RETRY_SECONDS)},
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def _matches_imported(stored: str, password: bytes) -> bool:
    if _BCRYPT.fullmatch(stored):
        return bcrypt.checkpw(password[:_BCRYPT_BYTES], stored.encode())
    if (parts := _PBKDF2.fullmatch(stored)) is None:
        return False
    salt, expected = (urlsafe_b64decode(one + "==") for one in parts.group(2, 3))
    return compare_digest(
        pbkdf2_hmac("sha256", password, salt, int(parts[1]), len(expected)), expected
    )


def check_new_password(password: str, field: str = "password") -> None:
    """Check a new password. Raises BadRequest naming `field` if it is too short or too long."""
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        raise BadRequest(f"{field}: {MIN_CHARACTERS} to {MAX_CHARACTERS} characters")
