"""E-mail addresses, checked and in the one form in which they are stored and compared. Pure."""

import unicodedata
from typing import Final

from tracker.errors import BadRequest

MAX_EMAIL_CHARACTERS: Final = 254
"""The longest address that mail servers take (RFC 5321)."""

_RULE: Final = f"must be an e-mail address of at most {MAX_EMAIL_CHARACTERS} characters"


def normal_email(field: str, text: str) -> str:
    """Return an address in the form that is stored: trimmed, in lower case, composed.

    No mail is ever sent here, so an address is a name that its owner remembers. It needs only one
    `@` with something on both sides, and no character that nobody sees. Raises BadRequest naming
    `field` if it breaks a rule.
    """
    # Before the rest, because normalizing costs time with the length.
    if len(text) > 4 * MAX_EMAIL_CHARACTERS:
        raise BadRequest(f"{field}: {_RULE}")
    email = unicodedata.normalize("NFC", text.strip().lower())
    local, at, domain = email.partition("@")
    if not (local and at and domain) or "@" in domain or len(email) > MAX_EMAIL_CHARACTERS:
        raise BadRequest(f"{field}: {_RULE}")
    if any(unicodedata.category(one)[0] in "CZ" for one in email):
        raise BadRequest(f"{field}: no white space, no control characters")
    return email
