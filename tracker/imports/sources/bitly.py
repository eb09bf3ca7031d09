"""Bitly: its API, and the CSV of its links."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final
from urllib.parse import quote

from tracker.imports.item import Loss, SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import csv_format
from tracker.imports.readers.json_records import listed, pages
from tracker.imports.source import Get, Parameters, Source

_GROUPS: Final = "v4/groups"
_SHARED_HOSTS: Final = ("bit.ly", "bitly.com", "j.mp")
_NAMES: Final = "destination_url:long_url internal_name:title tags archived created_at"


def _links(number: int, record: fields.Record) -> Iterable[SourceItem]:
    """Yield a link for each domain: what was printed, and its random twin as an alias."""
    paths: dict[str | None, list[str]] = {}
    for url in (*(record.get("custom_bitlinks") or ()), record["link"]):
        host, path = fields.short_url(url)
        paths.setdefault(None if host in _SHARED_HOSTS else host, []).append(path)
    # The twin of a custom domain's link stays where it is.
    twins = paths.pop(None) if len(paths) > 1 and None in paths else ()
    lost = tuple(Loss("link", f"{_SHARED_HOSTS[0]}/{one} stays with Bitly") for one in twins)
    for place, (domain_name, (path, *aliases)) in enumerate(paths.items()):
        yield fields.link(
            number,
            record,
            _NAMES,
            id=f"{record['id']} {domain_name}" if place else record["id"],
            domain_name=domain_name,
            path=path,
            aliases=tuple(dict.fromkeys(one for one in aliases if one != path)),
            losses=() if place else lost,
        )


def _following(_: Parameters, answer: Any, __: list[Any]) -> Parameters | None:
    after = answer["pagination"].get("search_after")
    return {"search_after": after} if after else None


async def _pages(get: Get) -> AsyncIterator[list[Any]]:
    for group in listed(_GROUPS, await get(_GROUPS, {}), "groups"):
        path = f"{_GROUPS}/{quote(group['guid'], safe='')}/bitlinks"
        # By default archived links are left out, though they go on redirecting.
        async for batch in pages(get, path, {"size": 100, "archived": "both"}, "links", _following):
            yield batch


BITLY: Final = Source(
    name="bitly",
    label="Bitly",
    files=(csv_format("CSV", "source_url", "destination_url", hosts=_SHARED_HOSTS),),
    key_headers=lambda key: {"Authorization": f"Bearer {key}"},
    read_api=lambda get: fields.items_of(_pages(get), _links),
    api_address="https://api-ssl.bitly.com",
)
