import asyncio

import pytest

from tracker.accounts import passwords
from tracker.accounts.passwords import MAX_CHARACTERS, Passwords, check_new_password
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
