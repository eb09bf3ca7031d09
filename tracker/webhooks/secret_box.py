"""Signing secrets at rest: encrypted with SECRET_KEY, each bound to its webhook. Pure.

AES-256-GCM of the `cryptography` library, with a random nonce for each text and a key that is
derived from the setting. A text that was moved to another webhook's record cannot be opened there.
Without a key secrets are kept as they are; those are read with a key as well.
"""

import base64
import os
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PREFIX: Final = "enc:v1:"
"""What an encrypted text begins with; a plain one begins with `whsec_`."""

_PURPOSE: Final = b"tracker webhook secrets v1"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class UnreadableSecret(Exception):
    """A secret is encrypted with none of the keys that are set, or is damaged."""


class SecretBox:
    """`keys` as SECRET_KEY has them: the first encrypts, all decrypt. Empty: no encryption."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [AESGCM(_derived(key)) for key in keys]

    @property
    def encrypts(self) -> bool:
        """Whether a key is set."""
        return bool(self._ciphers)

    def seal(self, webhook_id: UUID, secret: str) -> str:
        """Return `secret` as it is stored; as it is without a key."""
        if not self._ciphers:
            return secret
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._ciphers[0].encrypt(nonce, secret.encode(), _bound_to(webhook_id))
        return PREFIX + base64.b64encode(sealed).decode()

    def open(self, webhook_id: UUID, stored: str) -> str:
        """Return the secret that is stored as `stored`. Raises UnreadableSecret if no key fits."""
        if not stored.startswith(PREFIX):
            return stored
        for cipher in self._ciphers:
            secret = _opened(cipher, webhook_id, stored)
            if secret is not None:
                return secret
        raise UnreadableSecret

    def is_by_first_key(self, webhook_id: UUID, stored: str) -> bool:
        """Return whether `stored` is encrypted as `seal` would do it now."""
        return bool(self._ciphers) and _opened(self._ciphers[0], webhook_id, stored) is not None


def _derived(key: bytes) -> bytes:
    """Of its own for this purpose, so that the setting may serve others."""
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_PURPOSE).derive(key)


def _bound_to(webhook_id: UUID) -> bytes:
    return _PURPOSE + b" " + webhook_id.bytes


def _opened(cipher: AESGCM, webhook_id: UUID, stored: str) -> str | None:
    try:
        sealed = base64.b64decode(stored.removeprefix(PREFIX), validate=True)
        nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        return cipher.decrypt(nonce, encrypted, _bound_to(webhook_id)).decode()
    except (ValueError, InvalidTag):
        return None
