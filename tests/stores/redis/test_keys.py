"""The page of Redis keys has every key that `stores/redis/keys` makes, and no other."""

import inspect
import re
from uuid import UUID

import pytest

from tracker.stores.redis import keys

SAMPLES = {int: 1, str: "x", UUID: UUID(int=1), bytes: b"x"}
NO_KEYS = {"DRAIN_GROUP", "UUID", "hash_tag", "streams", "api_key", "tag"}
"""Names that are no key, or of several that others make."""


def made() -> list[str]:
    """Return one of each key: the constants, and what the functions make without and with all."""
    constants = {name: one for name, one in vars(keys).items() if name.isupper()}
    found = [one for name, one in constants.items() if name not in NO_KEYS]
    for name, make in inspect.getmembers(keys, inspect.isfunction):
        if make.__module__ == keys.__name__ and name not in NO_KEYS:
            parameters = inspect.signature(make).parameters.values()
            samples = [SAMPLES[one.annotation] for one in parameters]
            needed = [one.default is one.empty for one in parameters].count(True)
            found += [make(*samples[:needed]), make(*samples)]
    return found


def page() -> list[str]:
    """Return the patterns of the page, as regular expressions."""
    lines = re.findall(r"^(\S.*?)(?:  +\w.*)?$", str(keys.__doc__).split("\n\n")[1], re.MULTILINE)
    return [re.sub(r"<[^>]*>", "[^:]+", re.sub(r"[{}]", r"\\\g<0>", line)) for line in lines]


@pytest.mark.parametrize("key", made())
def test_a_key_is_on_the_page(key: str) -> None:
    assert [one for one in page() if re.fullmatch(one, key)]


@pytest.mark.parametrize("pattern", page())
def test_a_line_of_the_page_is_of_a_key_that_is_made(pattern: str) -> None:
    assert [one for one in made() if re.fullmatch(pattern, one)]
