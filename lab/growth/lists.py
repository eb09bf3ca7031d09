"""Lists and exports of an account with few links, beside one with many."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from lab.growth.figures import FAILED, Size
from lab.growth.filling import FilledAccount
from lab.growth.run import Run, Service, serving
from lab.requests import connect

_PAGE_SIZE: Final = 25
_LOOKS: Final = 5
_REST_SECONDS: Final = 20.0
_FEW_EXPORTS: Final = 5
"""Exports of the smaller account: one takes less than ten ticks of the processor's clock."""

_LINKS: Final = "/api/short-links"
_CSV: Final = {"csv": f"{_LINKS}?sort=newest", "csv-by-name": f"{_LINKS}?sort=name"}


async def measure(run: Run, wanted: Collection[str]) -> None:
    run.line.show("lists: filling")
    few = await run.filling.account(run.sizes.few_links)
    many = await run.filling.account(run.sizes.links)
    accounts: dict[Size, FilledAccount] = {"small": few, "large": many}
    async with serving(run, run.filling.settings) as service:
        for number in range(1, run.sizes.rounds + 1):
            run.line.show(f"lists: round {number} of {run.sizes.rounds}")
            for key in wanted - _CSV.keys():
                for size, account in accounts.items():
                    request = account.get(_pages(account)[key])
                    run.samples.add(key, size, await service.milliseconds(request, _LOOKS))
        exports = [key for key in _CSV if key in wanted]
        if exports:
            # What processes copy after their start would be taken for the work of the first one.
            await service.rest(_REST_SECONDS)
        for key in exports:
            run.line.show(f"lists: {key}")
            run.samples.add(key, "small", await _export(service, few, _CSV[key], _FEW_EXPORTS))
            run.samples.add(key, "large", await _export(service, many, _CSV[key], 1))


def _pages(account: FilledAccount) -> Mapping[str, str]:
    last, (first_tag, second_tag, *_) = -(-account.links // _PAGE_SIZE), account.tags
    both = f"{_LINKS}?selectedTags={first_tag},{second_tag}&tagOperator=AND"
    return {
        "first-page": f"{_LINKS}?page=1",
        "last-page": f"{_LINKS}?page={last}",
        "one-tag": f"{_LINKS}?selectedTags={first_tag}",
        "inactive": f"{_LINKS}?active=false",
        "by-name": f"{_LINKS}?sort=name",
        "tag-by-name": f"{_LINKS}?selectedTags={first_tag}&sort=name",
        "middle": f"{_LINKS}?active=true&sort=name&page={max(1, last // 2)}",
        "tags": "/api/tags?page=1",
        "two-tags": both,
        "two-tags-name": f"{both}&sort=name",
        "no-utm": f"{_LINKS}?utm_source=none&sort=name",
        "no-utm-tag": f"{_LINKS}?utm_source=none&selectedTags={first_tag}&sort=name",
        "tag-inactive": f"{_LINKS}?selectedTags={first_tag}&active=false",
        "search": f"{_LINKS}?search=nothing-has-this",
    }


async def _export(service: Service, account: FilledAccount, path: str, times: int) -> float:
    """Return the processor microseconds of a row in all processes; FAILED if rows are missing."""
    before = sum(service.cpu_seconds().values())
    for _ in range(times):
        if await _exported_rows(service.port, account.get(path, "text/csv")) != account.links:
            return FAILED
    used = sum(service.cpu_seconds().values()) - before
    return 1e6 * used / (times * account.links)


async def _exported_rows(port: int, request: bytes) -> int:
    """Return the number of rows, without that of the names; 0 if the file is not whole."""
    reader, writer = await connect(port)
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            return 0
        lines = 0
        while length := int(await reader.readline(), 16):
            lines += (await reader.readexactly(length + len(b"\r\n"))).count(b"\n") - 1
        return lines - 1
    except (asyncio.IncompleteReadError, ValueError):
        return 0
    finally:
        writer.transport.abort()
