"""Traffic that is spread over many accounts, beside traffic of ten."""

from collections.abc import Collection
from random import Random
from typing import Final, NamedTuple

from config.settings import Settings
from lab.growth.figures import Size
from lab.growth.filling import create_accounts, create_links
from lab.growth.run import QUIET_DAYS, REQUESTS, WARM_UP_REQUESTS, Cost, Run, Service, serving
from lab.requests import clicks, event
from lab.scene import Place, destination_of, new_link, open_services

_FEW: Final = 10
_IDLE: Final = "idle"
_REST_SECONDS: Final = 60.0
_IDLE_SECONDS: Final = 10.0


class _Accounts(NamedTuple):
    """Accounts in a database of their own: the link and the postback key of each."""

    settings: Settings
    places: list[Place]
    pbks: list[str]


async def measure(run: Run, wanted: Collection[str]) -> None:
    run.line.show("accounts: filling")
    sizes: dict[Size, _Accounts] = {
        "small": await _fill(run, "few_accounts", _FEW),
        "large": await _fill(run, "many_accounts", run.sizes.accounts),
    }
    for number in range(1, run.sizes.rounds + 1):
        run.line.show(f"accounts: round {number} of {run.sizes.rounds}")
        for size, accounts in sizes.items():
            if set(wanted) != {_IDLE}:
                await _measure_traffic(run, size, accounts)
    if _IDLE in wanted:
        run.line.show("accounts: idle")
        for size, accounts in sizes.items():
            async with serving(run, accounts.settings) as service:
                # The first look at the accounts of a few takes some seconds, then ten minutes pass.
                await service.rest(_REST_SECONDS)
                await service.stores.checkpoint()  # of what the filling wrote
                run.samples.add(_IDLE, size, await service.share_of_core(_IDLE_SECONDS))


async def _fill(run: Run, database: str, number: int) -> _Accounts:
    settings = run.in_database(database)
    async with open_services(settings) as services:
        configs = await create_accounts(services, number)
        slugs = [f"account-{one}" for one in range(number)]
        owned = [
            (config.account_id, slug, destination_of(slug))
            for config, slug in zip(configs, slugs, strict=True)
        ]
        await create_links(services, number, lambda one: new_link(*owned[one]))
    places = [Place(slug) for slug in slugs]
    return _Accounts(settings, places, [config.pbk for config in configs])


async def _measure_traffic(run: Run, size: Size, accounts: _Accounts) -> None:
    async with serving(
        run, accounts.settings, days_later=QUIET_DAYS, counts_ahead=False
    ) as service:
        one = accounts._replace(places=accounts.places[:1], pbks=accounts.pbks[:1])
        await _load(service, one, WARM_UP_REQUESTS)
        clicked, converted = await _load(service, accounts, REQUESTS)
        run.samples.add("clicks", size, clicked.total)
        run.samples.add("conversions", size, converted.total)


async def _load(service: Service, accounts: _Accounts, count: int) -> tuple[Cost, Cost]:
    draw = Random(count)  # noqa: S311
    clicked = clicks(draw.choices(accounts.places, k=count), count)
    pbks = draw.choices(accounts.pbks, k=count)
    conversions = [event({"pbk": pbk}, number) for number, pbk in enumerate(pbks)]
    return await service.load(clicked), await service.load(conversions, 200)
