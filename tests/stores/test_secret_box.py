"""Secrets at rest: only the key, purpose and record that they were encrypted for open them."""

import os
from collections.abc import Sequence
from uuid import UUID

import pytest

from tracker.ids import new_id
from tracker.stores.secret_box import PREFIX, Purpose, SecretBox, UnreadableSecret

ONE, OTHER = os.urandom(32), os.urandom(48)
WEBHOOK = new_id()
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def webhooks(keys: Sequence[bytes]) -> SecretBox:
    return SecretBox(keys, Purpose.WEBHOOK)


@pytest.mark.parametrize(
    ("sealing", "opening", "readable"),
    [
        ([ONE], [ONE], True),
        ([ONE, OTHER], [ONE], True),
        ([ONE], [OTHER, ONE], True),
        ([ONE], [OTHER], False),
        ([ONE], [], False),
        ([], [ONE], True),
        ([], [], True),
    ],
    ids=["same", "first encrypts", "older opens", "another", "missing", "plain", "without any"],
)
def test_a_secret_is_opened_by_any_key_that_fits(
    sealing: Sequence[bytes], opening: Sequence[bytes], readable: bool
) -> None:
    stored = webhooks(sealing).seal(WEBHOOK, SECRET)
    assert stored.startswith(PREFIX) == bool(sealing)
    assert (SECRET in stored) == (not sealing)
    box = webhooks(opening)
    if readable:
        assert box.open(WEBHOOK, stored) == SECRET
    else:
        with pytest.raises(UnreadableSecret):
            box.open(WEBHOOK, stored)


def test_sealing_a_secret_twice_gives_different_texts() -> None:
    box = webhooks([ONE])
    assert len({box.seal(WEBHOOK, SECRET) for _ in range(100)}) == 100


def test_a_text_that_was_moved_to_another_record_is_not_opened() -> None:
    box = webhooks([ONE])
    with pytest.raises(UnreadableSecret):
        box.open(new_id(), box.seal(WEBHOOK, SECRET))


def test_a_text_that_was_sealed_for_another_purpose_is_not_opened() -> None:
    with pytest.raises(UnreadableSecret):
        SecretBox([ONE], Purpose.TOTP).open(WEBHOOK, webhooks([ONE]).seal(WEBHOOK, SECRET))


def test_a_text_that_an_earlier_release_sealed_is_opened() -> None:
    stored = (
        "enc:v1:vFZASAhT2TuLN9gEO2lw66D65S9JKiv+7Wbzmr3fGdB9yBR5gLBcvytWTWQuhNUrowENp4I+POg+Tav3"
        "yIoln9zh"
    )
    record_id = UUID("0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b")
    assert webhooks([bytes(range(32))]).open(record_id, stored) == SECRET


@pytest.mark.parametrize("damage", ["", "x", "not base64 !", "AAAA", "whsec_abc"])
def test_a_damaged_text_is_not_opened(damage: str) -> None:
    with pytest.raises(UnreadableSecret):
        webhooks([ONE]).open(WEBHOOK, PREFIX + damage)


def test_every_changed_byte_is_noticed() -> None:
    box = webhooks([ONE])
    stored = box.seal(WEBHOOK, SECRET)
    for place in range(len(PREFIX), len(stored) - 2):
        other = "A" if stored[place] != "A" else "B"
        with pytest.raises(UnreadableSecret):
            box.open(WEBHOOK, stored[:place] + other + stored[place + 1 :])


def test_texts_sealed_with_the_first_key_are_recognized() -> None:
    box = webhooks([ONE, OTHER])
    assert box.is_sealed_with_first_key(WEBHOOK, box.seal(WEBHOOK, SECRET))
    assert not box.is_sealed_with_first_key(WEBHOOK, webhooks([OTHER]).seal(WEBHOOK, SECRET))
    assert not box.is_sealed_with_first_key(WEBHOOK, SECRET)
    assert not webhooks([]).is_sealed_with_first_key(WEBHOOK, SECRET)
