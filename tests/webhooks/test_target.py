"""No spelling of a private address is accepted: as numbers, as names, within other addresses."""

from contextlib import nullcontext
from itertools import chain

import pytest

from config.settings import Settings
from tests.dns.networks import INSIDE, INSIDE_6, OUTSIDE, OUTSIDE_6, mapped
from tracker.dns.resolver import DnsFailed
from tracker.errors import BadRequest
from tracker.webhooks.target import PRIVATE, Resolve, check_addresses, check_target

HOST_RULE = "target_url: the host must be a hostname"


def resolves_to(*addresses: str) -> Resolve:
    async def answer(host: str) -> list[str]:
        return list(addresses)

    return answer


async def unasked(host: str) -> list[str]:
    raise AssertionError(f"asked for {host}")


async def check(url: str, resolve: Resolve = unasked) -> None:
    host, _ = check_target(url, allow_private=False)
    await check_addresses(host, resolve)


async def refused(url: str, resolve: Resolve = unasked) -> str:
    with pytest.raises(BadRequest) as error:
        await check(url, resolve)
    return error.value.message


@pytest.mark.parametrize("address", [*INSIDE, *INSIDE_6, *chain.from_iterable(map(mapped, INSIDE))])
async def test_a_private_address_is_refused(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    for url in (f"https://{host}", f"http://{host}:8080/hook?a=1"):
        assert await refused(url) == PRIVATE
    assert await refused("https://hooks.example", resolves_to(address)) == PRIVATE


@pytest.mark.parametrize(
    "host",
    [
        *("[::ffff:127.0.0.1]", "[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:169.254.169.254]"),
        *("[::127.0.0.1]", "[64:ff9b::169.254.169.254]", "[2002:a9fe:a9fe::]", "[0::0]"),
        *("127.0.0.1.", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "①②⑦.0.0.1"),
        *("localhost", "LOCALHOST.", "a.localhost", "a.b.Localhost.", "\u24dbocalhost"),
    ],
)
async def test_another_spelling_of_a_private_address_is_refused(host: str) -> None:
    assert await refused(f"http://{host}/") == PRIVATE


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "017700000001", "0x7f.0.0.1", "0177.0.0.1", "127.1"),
        *("0", "127.0.0.01", "256.256.256.256", "[fe80::1%eth0]", "[127.0.0.1]", "[::1", "", "%31"),
    ],
)
async def test_a_host_that_only_some_read_as_an_address_is_refused(host: str) -> None:
    assert (await refused(f"http://{host}/")).startswith(HOST_RULE)
    with pytest.raises(BadRequest):
        check_target(f"http://{host}/", allow_private=True)


@pytest.mark.parametrize("address", [*OUTSIDE, *OUTSIDE_6, *mapped("8.8.8.8")])
async def test_a_public_address_is_accepted(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    await check(f"https://{host}:8443/hook")
    await check("https://hooks.example/", resolves_to(address, "8.8.4.4"))


async def test_one_private_address_among_others_is_enough_to_refuse() -> None:
    for addresses in (["8.8.8.8", "10.0.0.1"], ["::1", "8.8.8.8"]):
        assert await refused("https://hooks.example", resolves_to(*addresses)) == PRIVATE


async def test_a_name_without_an_address_is_accepted_with_a_warning() -> None:
    [warning] = await check_addresses("hooks.example", resolves_to())
    assert warning.startswith("target_url: DNS has no address of hooks.example")
    assert await check_addresses("hooks.example", resolves_to("8.8.8.8")) == []


async def test_a_name_that_dns_cannot_resolve_now_is_accepted() -> None:
    async def fails(host: str) -> list[str]:
        raise DnsFailed

    await check("https://hooks.example/", fails)


async def test_a_name_is_resolved_in_its_canonical_form() -> None:
    hosts = []

    async def note(host: str) -> list[str]:
        hosts.append(host)
        return ["8.8.8.8"]

    await check("https://B\u00fccher.Example.:8443/", note)
    assert hosts == ["xn--bcher-kva.example"]


async def test_the_operator_may_allow_private_networks() -> None:
    for host in ("127.0.0.1", "[::1]", "localhost", "hooks.internal", "169.254.169.254"):
        assert check_target(f"http://{host}:9000/", allow_private=True)[1] == 9000


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        (Settings(env="development"), True),
        (Settings(env="production", webhook_allow_http=True), True),
        (Settings(env="production"), False),
    ],
)
def test_in_production_a_target_without_https_needs_a_setting(
    settings: Settings, allowed: bool
) -> None:
    allow_http = settings.http_targets_allowed
    assert allow_http is allowed
    check_target("HTTPS://8.8.8.8/", allow_private=False, allow_http=allow_http)
    with nullcontext() if allow_http else pytest.raises(BadRequest, match="must be https"):
        check_target("HTTP://8.8.8.8/", allow_private=False, allow_http=allow_http)
