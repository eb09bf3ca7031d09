"""Hostnames in ASCII as browsers make them: UTS 46, nontransitional, with any hyphens. Pure.

`idna.encode` follows IDNA 2008 instead, which has no emoji.
"""

from typing import Final

import idna

MAX_LABEL_CHARACTERS: Final = 63

_ENCODED: Final = "xn--"
_JOINERS: Final = "\u200c\u200d"


def ascii_hostname(text: str) -> str:
    """Return a hostname in ASCII and lower case. Raises ValueError if browsers refuse it.

    Characters of ASCII that no hostname may have are kept.
    """
    labels = idna.uts46_remap(text, std3_rules=False).split(".")
    return ".".join(map(_ascii_label, labels))


def check_encoded(label: str) -> None:
    """Raises ValueError for a label that begins with `xn--`, and that browsers refuse."""
    if label.startswith(_ENCODED):
        text = label.removeprefix(_ENCODED).encode("ascii").decode("punycode")
        if text.isascii() or idna.uts46_remap(text, std3_rules=False) != text:
            raise ValueError("not what encoding makes")
        _check(text)


def _ascii_label(label: str) -> str:
    if label.startswith(_ENCODED):
        check_encoded(label)
    elif not label.isascii():
        # Encoding takes time squared, and never makes a text shorter.
        if len(label) > MAX_LABEL_CHARACTERS:
            raise ValueError("too long")
        _check(label)
        return _ENCODED + label.encode("punycode").decode()
    return label


def _check(label: str) -> None:
    idna.check_initial_combiner(label)
    idna.check_bidi(label)
    for position, character in enumerate(label):
        if character in _JOINERS and not idna.valid_contextj(label, position):
            raise ValueError("a joiner without a word of which it is part")
