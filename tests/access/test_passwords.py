import asyncio
import os
import sys
import threading
from base64 import urlsafe_b64encode
from hashlib import pbkdf2_hmac

import bcrypt
import pytest

from tracker.access import passwords
from tracker.access.passwords import (
    MAX_CHARACTERS,
    Passwords,
    check_new_password,
    is_supported_hash,
)
from tracker.errors import BadRequest, Unavailable


async def test_only_the_right_password_verifies() -> None:
    hashing = Passwords()
    stored = await hashing.hash("correct horse battery")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert await hashing.verify(stored, "correct horse battery")
    assert not await hashing.verify(stored, "correct horse batter")
    assert not await hashing.verify("damaged", "correct horse battery")
    assert not hashing.is_outdated(stored)
    longest = "x" * MAX_CHARACTERS
    assert await hashing.verify(await hashing.hash(longest), longest)
    hashing.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only there a thread has a priority")
async def test_passwords_are_hashed_only_while_no_request_waits_for_the_core() -> None:
    hashing, before = passwords.Passwords(), os.getpriority(os.PRIO_PROCESS, 0)
    priority = hashing._run(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
    assert (await priority, os.getpriority(os.PRIO_PROCESS, 0)) == (19, before)


async def test_a_missing_hash_is_verified_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    hashing, verified = Passwords(), list[tuple[str, str]]()

    def noted(stored: str, password: str) -> bool:
        verified.append((stored, password))
        return True

    monkeypatch.setattr(hashing, "_matches", noted)
    assert not await hashing.verify(None, "correct horse battery")
    assert not await hashing.verify(None, "x" * (MAX_CHARACTERS + 1))
    assert [text for _, text in verified] == ["correct horse battery", ""]
    assert hashing.is_outdated(verified[0][0]) is False
    hashing.close()


async def test_too_many_at_once_are_told_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "MAX_WAITING", 3)
    hashing = Passwords()
    answers = await asyncio.gather(
        *(hashing.verify(None, "x") for _ in range(5)), return_exceptions=True
    )
    refused = [one for one in answers if isinstance(one, Unavailable)]
    assert len(refused) == 2
    assert refused[0].headers["Retry-After"]
    assert await hashing.verify(None, "x") is False
    hashing.close()


@pytest.mark.parametrize(("length", "fits"), [(11, False), (12, True), (256, True), (257, False)])
def test_a_new_password_has_12_to_256_characters(length: int, fits: bool) -> None:
    if fits:
        check_new_password("x" * length)
    else:
        with pytest.raises(BadRequest, match="password: 12 to 256 characters"):
            check_new_password("x" * length)


SUPPORTED = (
    *(f"${scheme}$10${'a' * 21}e{'b' * 31}" for scheme in ("2a", "2b", "2y")),
    f"$2b$13$./{'A' * 19}O{'b' * 31}",
    f"pbkdf2-sha256$1$YQ${'a' * 22}",
    f"pbkdf2-sha256$1000000${'-' * 84}${'_' * 84}",
)
UNSUPPORTED = (
    "",
    "plain",
    f"$2x$10${'a' * 21}e{'b' * 31}",
    f"$2b$14${'a' * 21}e{'b' * 31}",
    f"$2b$03${'a' * 21}e{'b' * 31}",
    f"$2b$10${'a' * 21}f{'b' * 31}",  # bits beyond the salt
    f"$2b$10${'a' * 21}e{'b' * 31}\n",
    f"$2b$10${'a' * 21}e{'é' * 31}",
    f"pbkdf2-sha256$1000001$YWFh${'a' * 43}",
    f"pbkdf2-sha256$9999999$YWFh${'a' * 43}",
    f"pbkdf2-sha256$0$YWFh${'a' * 43}",
    f"pbkdf2-sha256$\u0661$YWFh${'a' * 43}",
    f"pbkdf2-sha256$1$YWFhY${'a' * 43}",  # of no bytes
    f"pbkdf2-sha256$1$YWFh${'a' * 21}",
    f"pbkdf2-sha256$1$YWFh${'a' * 88}",
    f"pbkdf2-sha256$1$YWFh${'a' * 43}=",
    f"pbkdf2-sha512$1$YWFh${'a' * 43}",
    "$argon2id$v=19$m=4194304,t=99,p=1$NgGW39+obEFjKYeOs2DBWQ$YqUDRDA+p45OAnAdQZlYGk4WJZNYoXq7",
)


async def test_imported_hashes_of_bounded_cost_are_supported_and_never_an_error() -> None:
    hashing = Passwords()
    assert [one for one in SUPPORTED if not is_supported_hash(one)] == []
    assert [one for one in UNSUPPORTED if is_supported_hash(one)] == []
    cheap = [one for one in SUPPORTED if "$13$" not in one and "1000000" not in one]
    for stored in (*cheap, *UNSUPPORTED[:-1]):
        assert not await hashing.verify(stored, "x")
        assert hashing.is_outdated(stored)
    hashing.close()


@pytest.mark.parametrize("scheme", ["bcrypt", "pbkdf2"])
async def test_the_right_password_matches_an_imported_hash(scheme: str) -> None:
    password = "Gänse 7" + "x" * 80
    made = {
        # The programs that wrote them cut passwords at 72 bytes.
        "bcrypt": bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(4)).decode(),
        "pbkdf2": "pbkdf2-sha256$2$c2FsdA$"
        + urlsafe_b64encode(pbkdf2_hmac("sha256", password.encode(), b"salt", 2)).decode()[:-1],
    }[scheme]
    hashing = Passwords()
    assert is_supported_hash(made)
    assert await hashing.verify(made, password)
    assert not await hashing.verify(made, password[1:])
    hashing.close()
