"""Encryption of signing secrets at rest with SECRET_KEY, each bound to its webhook. Pure.

- AES-256-GCM of the `cryptography` library, with a random nonce for each text.
- Its key is derived from the setting by HKDF, for this purpose alone.
- Without a key secrets are stored as they are, and stay readable once a key is set.

Guarantee: a text that was moved to another webhook's record cannot be decrypted there.
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
"""The beginning of an encrypted text; a plain one begins with `whsec_`."""

_PURPOSE: Final = b"tracker webhook secrets v1"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class UnreadableSecret(Exception):
    """The error of a secret that is damaged, or encrypted with none of the keys that are set."""


class SecretBox:
    """The encryption of secrets with the keys of SECRET_KEY.

    The first of `keys` encrypts, all decrypt. Without keys nothing is encrypted.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [AESGCM(_derive(key)) for key in keys]

    @property
    def encrypts(self) -> bool:
        """Return whether a key is set."""
        return bool(self._ciphers)

    def seal(self, webhook_id: UUID, secret: str) -> str:
        """Return `secret` in the form that is stored; unchanged if there is no key."""
        if not self._ciphers:
            return secret
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._ciphers[0].encrypt(
            nonce, secret.encode(), _associated_data(webhook_id)
        )
        return PREFIX + base64.b64encode(sealed).decode()

    def open(self, webhook_id: UUID, stored: str) -> str:
        """Return the secret of a stored text. Raises UnreadableSecret if no key fits."""
        if not stored.startswith(PREFIX):
            return stored
        for cipher in self._ciphers:
            secret = _decrypt(cipher, webhook_id, stored)
            if secret is not None:
                return secret
        raise UnreadableSecret

    def is_sealed_with_first_key(self, webhook_id: UUID, stored: str) -> bool:
        """Return whether `stored` is encrypted with the first key, as `seal` does."""
        return bool(self._ciphers) and _decrypt(self._ciphers[0], webhook_id, stored) is not None


def _derive(key: bytes) -> bytes:
    """Derive a key for this purpose, so that the setting may serve others too."""
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_PURPOSE).derive(key)


def _associated_data(webhook_id: UUID) -> bytes:
    return _PURPOSE + b" " + webhook_id.bytes


def _decrypt(cipher: AESGCM, webhook_id: UUID, stored: str) -> str | None:
    try:
        sealed = base64.b64decode(stored.removeprefix(PREFIX), validate=True)
        nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        return cipher.decrypt(nonce, encrypted, _associated_data(webhook_id)).decode()
    except (ValueError, InvalidTag):
        return None
