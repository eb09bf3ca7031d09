"""The form of SECRET_KEY: random bytes in base64, one key or several separated by commas. Pure."""

import base64
from typing import Final

MIN_KEY_BYTES: Final = 32

RULE: Final = (
    f"must be {MIN_KEY_BYTES} random bytes or more in base64, such as "
    f"`openssl rand -base64 {MIN_KEY_BYTES}` makes; several are separated by commas"
)


def keys_of(text: str) -> tuple[bytes, ...]:
    """Return the keys in `text`, in order; empty if `text` is empty.

    Raises ValueError if a key is malformed, too short, or so uniform that it is not random.
    """
    return tuple(_key(one) for one in text.split(",")) if text.strip() else ()


def _key(text: str) -> bytes:
    """Decode base64 of either alphabet, with or without padding."""
    plain = text.strip().rstrip("=").replace("-", "+").replace("_", "/")
    key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    if len(key) < MIN_KEY_BYTES or len(set(key)) < MIN_KEY_BYTES // 2:
        raise ValueError(RULE)
    return key
