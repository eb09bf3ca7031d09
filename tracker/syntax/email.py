"""E-mail addresses as they are stored and compared. Pure. No mail is sent, so the check is lax."""

import unicodedata
from typing import Final

from tracker.errors import BadRequest

MAX_EMAIL_CHARACTERS: Final = 254
"""The longest address that mail servers take (RFC 5321)."""

_RULE: Final = f"must be an e-mail address of at most {MAX_EMAIL_CHARACTERS} characters"


def normal_email(field: str, text: str) -> str:
    """Return `text` trimmed, in lower case and composed. Raises BadRequest if it breaks a rule."""
    # Normalizing costs time with the length.
    if len(text) > 4 * MAX_EMAIL_CHARACTERS:
        raise BadRequest(f"{field}: {_RULE}")
    email = unicodedata.normalize("NFC", text.strip().lower())
    local, at, domain = email.partition("@")
    if not (local and at and domain) or "@" in domain or len(email) > MAX_EMAIL_CHARACTERS:
        raise BadRequest(f"{field}: {_RULE}")
    if any(unicodedata.category(one)[0] in "CZ" for one in email):
        raise BadRequest(f"{field}: no white space, no control characters")
    return email
