"""A service with an account that has two months of traffic. It runs until Ctrl-C."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from config.settings import Settings
from lab.harness import on_own_stores, option_parser
from lab.processes import running, service_process
from lab.sample_account import CLICKS, SampleAccount
from lab.scene import open_services
from tracker.access.invitations import join_url
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.service.banner import command_values, demo_link, export_line
from tracker.service.services import Services

DEFAULT_PORT: Final = 8080


async def run(folder: Path, stores: Settings, port: int) -> None:
    settings = msgspec.structs.replace(stores, base_url=f"http://localhost:{port}", port=port)
    print(f"storing {CLICKS:,} clicks of two months (some seconds)", flush=True)
    async with open_services(settings) as services:
        sample = SampleAccount(services)
        await sample.make()
        account_id = sample.account.id
        author = Author.operator(account_id)
        _, token = await services.accounts.membership.invite(author, None, Role.OWNER)
        exported = await _export_line(services, account_id)
    service = service_process(folder, "service", "all", settings)
    async with running([service]):
        url = settings.base_url
        print(f"\n  console     {join_url(url, token)}   (opens once, within 24 hours)")
        print(f"  after that  {url}/console\n\n  what the README's commands use\n    {exported}")
        print("\n  Ctrl-C ends it; nothing is kept", flush=True)
        while not service.ended_by_itself:
            await asyncio.sleep(1)
            service.restart_if_ended()


async def _export_line(services: Services, account_id: UUID) -> str:
    await services.links.links.create(demo_link(account_id))
    _, key = await services.access.api_keys.create(account_id, "demo")
    config = (await services.conversions.event_configs.list(account_id))[0]
    url = services.settings.base_url
    return export_line(command_values(url, account_id, key, config.pbk))


def main(arguments: Sequence[str] | None = None) -> int:
    port: int = _parser().parse_args(arguments).port
    on_own_stores("demo", lambda folder, stores: run(folder, stores, port))
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = option_parser(
        "demo",
        "Run the service with an account that has two months of clicks, conversions and "
        "deliveries, and print the way into its console.",
        "example:\n  make demo PORT=9000",
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"[{DEFAULT_PORT}]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
