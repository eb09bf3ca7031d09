"""Encryption of secrets at rest with SECRET_KEY, by AES-256-GCM. Pure.

Each purpose has a key of its own, derived by HKDF. Without a key secrets are stored plain, and stay
readable once a key is set.

Guarantee: a text that was moved to another document or purpose cannot be decrypted there.
"""

import base64
import os
from collections.abc import Sequence
from enum import Enum
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PREFIX: Final = "enc:v1:"
"""The beginning of an encrypted text; no plain secret begins with it."""

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class Purpose(Enum):
    """The kinds of secrets that are encrypted. A changed value makes stored ones unreadable."""

    WEBHOOK = b"tracker webhook secrets v1"
    TOTP = b"tracker totp secrets v1"
    ANSWER = b"tracker first answers v1"


class UnreadableSecret(Exception):
    """The error of a secret that is damaged, or encrypted with none of the keys that are set."""


class SecretBox:
    """The encryption for one purpose. The first of `keys` encrypts, all decrypt."""

    def __init__(self, keys: Sequence[bytes], purpose: Purpose) -> None:
        self._purpose = purpose.value
        self._ciphers = [AESGCM(_derive(key, self._purpose)) for key in keys]

    def seal(self, document_id: UUID, secret: str) -> str:
        """Return `secret` as it is stored; unchanged if there is no key."""
        if not self._ciphers:
            return secret
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._ciphers[0].encrypt(
            nonce, secret.encode(), self._associated_data(document_id)
        )
        return PREFIX + base64.b64encode(sealed).decode()

    def open(self, document_id: UUID, stored: str) -> str:
        """Return the secret of a stored text. Raises UnreadableSecret if no key fits."""
        if not stored.startswith(PREFIX):
            return stored
        for cipher in self._ciphers:
            secret = self._decrypt(cipher, document_id, stored)
            if secret is not None:
                return secret
        raise UnreadableSecret

    def is_sealed_with_first_key(self, document_id: UUID, stored: str) -> bool:
        first = self._ciphers[:1]
        return any(self._decrypt(cipher, document_id, stored) is not None for cipher in first)

    def _decrypt(self, cipher: AESGCM, document_id: UUID, stored: str) -> str | None:
        try:
            sealed = base64.b64decode(stored.removeprefix(PREFIX), validate=True)
            nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return cipher.decrypt(nonce, encrypted, self._associated_data(document_id)).decode()
        except (ValueError, InvalidTag):
            return None

    def _associated_data(self, document_id: UUID) -> bytes:
        return self._purpose + b" " + document_id.bytes


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=purpose).derive(key)
