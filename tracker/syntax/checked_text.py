"""Bytes as text with a checksum: the cursors of lists. Pure.

The checksum detects text that is cut, made up, or of another key or purpose. The key is no secret.
"""

import base64
from hashlib import blake2b
from typing import Final

CHECK_BYTES: Final = 8


def checked_text(packed: bytes, key: bytes, purpose: str) -> str:
    """Return `packed` as text. `key` has at most 64 bytes, `purpose` 16."""
    return _text(_check(packed, key, purpose) + packed)


def checked_bytes(text: str, key: bytes, purpose: str) -> bytes:
    """Return the bytes of a text. Raises ValueError if `checked_text` does not make it of them."""
    checked = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    packed = checked[CHECK_BYTES:]
    if checked[:CHECK_BYTES] != _check(packed, key, purpose) or _text(checked) != text:
        raise ValueError("not one of ours")
    return packed


def _text(checked: bytes) -> str:
    return base64.urlsafe_b64encode(checked).rstrip(b"=").decode()


def _check(packed: bytes, key: bytes, purpose: str) -> bytes:
    return blake2b(packed, digest_size=CHECK_BYTES, key=key, person=purpose.encode()).digest()
