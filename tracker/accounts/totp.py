"""Codes of a second factor: TOTP of an authenticator app (RFC 6238), and recovery codes. Pure.

A recovery code has 80 random bits, so SHA-256 is enough to hide it. The hash covers the person id.
"""

import base64
import hashlib
import re
import secrets
from typing import Final
from uuid import UUID

import pyotp
from pyotp.exceptions import OTPVerificationError

RECOVERY_CODES: Final = 10
MAX_CODE_CHARACTERS: Final = 64
"""A limit on typed text. A recovery code has 19 characters."""

_DRIFT_STEPS: Final = 1
"""An app's clock may be ahead or behind by this number of steps of 30 seconds."""

_CODE: Final = re.compile("[0-9]{6}")
_RECOVERY_BYTES: Final = 10
_GROUP: Final = re.compile(r"(?<=.)(?=(?:.{4})+$)")
_SEPARATORS: Final = re.compile(r"[\s-]+")


def new_secret() -> str:
    """Return a new secret of 160 random bits in base32."""
    return pyotp.random_base32()


def setup_uri(secret: str, email: str, issuer: str) -> str:
    """Return the otpauth:// URI of a secret, which apps scan as a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=issuer)


def step_of(secret: str, code: str, at: float) -> int | None:
    """Return the 30-second step of `code`, None if it is wrong. `at` is in epoch seconds.

    The caller stores the step, to accept no code twice.
    """
    if not _CODE.fullmatch(code):
        return None
    try:
        return pyotp.TOTP(secret).verify_and_get_timecode(
            code, for_time=at, valid_window=_DRIFT_STEPS
        )
    except OTPVerificationError:
        return None


def normal_code(code: str) -> str:
    """Return a code in lower case, without spaces and hyphens."""
    return _SEPARATORS.sub("", code).lower()


def new_recovery_codes() -> list[str]:
    """Return new recovery codes as people read them, such as `abcd-efgh-ijkl-mnop`."""
    made = (base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)) for _ in range(RECOVERY_CODES))
    return [_GROUP.sub("-", code.decode().lower()) for code in made]


def recovery_digest(person_id: UUID, code: str) -> bytes:
    """Return the hash under which a person's recovery code is stored."""
    return hashlib.sha256(person_id.bytes + normal_code(code).encode(errors="replace")).digest()
