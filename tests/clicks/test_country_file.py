"""An operator's file of countries: used after the edge and before the registries, and replaced
while it is in use."""

import random
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import structlog
from mmdb_writer import MMDBWriter
from netaddr import IPSet  # type: ignore[import-untyped]

from tracker.clicks import country as module
from tracker.clicks.country import Countries
from tracker.visitor_dimensions import UNKNOWN

AMERICAN = "8.8.8.8"
IRISH = "2a00:1450:4001::1"
Records = Mapping[str, Any]


def write(path: Path, records: Records, ip_version: int = 6) -> None:
    """Write a file with a record for each network, and rename it into place."""
    writer = MMDBWriter(ip_version, "Country", ["en"], "test", ipv4_compatible=ip_version == 6)
    for network, record in records.items():
        writer.insert_network(IPSet([network]), record)
    new = path.with_suffix(".part")
    writer.to_db_file(str(new))
    new.rename(path)


def country(code: str) -> Records:
    return {"country": {"iso_code": code, "names": {"en": "somewhere"}}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "countries.mmdb"


@pytest.fixture
def checks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.0)


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sequence[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as captured:
        monkeypatch.setattr(module, "log", structlog.get_logger())
        yield captured


def errors(logs: Sequence[MutableMapping[str, Any]]) -> list[str]:
    return [str(entry["event"]) for entry in logs if entry["log_level"] == "error"]


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (country("FR"), "FR"),
        ({"country_code": "FR"}, "FR"),
        ({"country_code": "FR", "country": "France"}, "FR"),
        (country("XX"), "US"),
        (country("fr"), "US"),
        ({"country": {"names": {"en": "France"}}}, "US"),
        ({"country": {"iso_code": ["FR"]}}, "US"),
        ({"country_code": 7}, "US"),
        ({"continent": {"code": "EU"}}, "US"),
        ("FR", "US"),
    ],
)
def test_the_file_is_read_first_and_the_registries_if_it_names_no_country(
    path: Path, record: Any, found: str
) -> None:
    write(path, {"8.8.8.0/24": record})
    assert Countries(str(path)).look_up(AMERICAN, "") == found


@pytest.mark.parametrize(
    ("address", "edge", "found"),
    [
        ("1.2.3.4", "", "FR"),
        ("1.2.3.4", "BR", "BR"),
        ("::ffff:1.2.3.4", "", "FR"),
        ("10.0.0.1", "", "JP"),
        ("2001:db8::1", "", "DE"),
        (AMERICAN, "", "US"),
        (IRISH, "", "IE"),
        ("192.168.0.1", "", UNKNOWN),
    ],
)
def test_ipv4_and_ipv6_are_found_and_other_addresses_left_to_the_registries(
    path: Path, address: str, edge: str, found: str
) -> None:
    write(
        path,
        {
            "1.2.3.0/24": country("FR"),
            "10.0.0.0/8": country("JP"),
            "2001:db8::/32": country("DE"),
        },
    )
    assert Countries(str(path)).look_up(address, edge) == found


def test_ipv6_is_left_to_the_registries_by_a_file_of_ipv4(path: Path) -> None:
    write(path, {"8.8.8.0/24": country("FR")}, ip_version=4)
    countries = Countries(str(path))
    assert [countries.look_up(address, "") for address in (AMERICAN, IRISH)] == ["FR", "IE"]


def test_a_file_that_is_replaced_is_read_again_while_in_use(
    path: Path, checks_always: None, logs: Sequence[MutableMapping[str, Any]]
) -> None:
    countries = Countries(str(path))
    for code in ("FR", "DE", "JP"):
        write(path, {"8.8.8.0/24": country(code)})
        assert [countries.look_up(AMERICAN, "") for _ in range(3)] == [code] * 3
    assert [entry["event"] for entry in logs] == ["country file read"] * 3


def test_a_file_is_checked_only_every_few_seconds(path: Path) -> None:
    write(path, {"8.8.8.0/24": country("FR")})
    countries = Countries(str(path))
    assert countries.look_up(AMERICAN, "") == "FR"
    write(path, {"8.8.8.0/24": country("DE")})
    assert countries.look_up(AMERICAN, "") == "FR"


@pytest.mark.parametrize("damage", ["garbage", "empty", "folder", "gone", "cut"])
def test_an_unreadable_new_file_is_logged_once_and_the_old_one_stays_in_use(
    path: Path, checks_always: None, logs: Sequence[MutableMapping[str, Any]], damage: str
) -> None:
    write(path, {"8.8.8.0/24": country("FR")})
    whole = path.read_bytes()
    countries = Countries(str(path))
    assert countries.look_up(AMERICAN, "") == "FR"
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        contents = {"garbage": b"no MaxMind file", "empty": b"", "cut": whole[: len(whole) // 2]}
        path.write_bytes(contents[damage])
    assert [countries.look_up(AMERICAN, "") for _ in range(3)] == ["FR"] * 3
    assert errors(logs) == ["country file unreadable"]
    if damage == "folder":
        path.rmdir()
    write(path, {"8.8.8.0/24": country("DE")})
    assert countries.look_up(AMERICAN, "") == "DE"


def test_a_file_whose_contents_are_damaged_never_raises(
    path: Path, checks_always: None, logs: Sequence[MutableMapping[str, Any]]
) -> None:
    """The country is a known one or unknown, whichever bytes are wrong."""
    write(path, {f"8.8.{number}.0/24": country("FR") for number in range(0, 256, 8)})
    whole, chance = path.read_bytes(), random.Random(1)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(20):
            damaged[chance.randrange(len(damaged))] ^= 0xFF
        part = path.with_suffix(".part")
        part.write_bytes(damaged)
        part.rename(path)
        assert len(Countries(str(path)).look_up("8.8.8.8", "")) in (2, len(UNKNOWN))
    assert set(errors(logs)) == {"country file unreadable", "country file damaged"}


def test_a_damaged_record_is_logged_once_and_the_registries_answer(
    path: Path, logs: Sequence[MutableMapping[str, Any]]
) -> None:
    write(path, {"8.8.8.0/24": country("FR")})
    whole = path.read_bytes()
    pointer_to_nowhere = b"\x38\xff\xff\xff\xff"
    at = whole.index(b"\x00" * 16) + 16
    path.write_bytes(whole[:at] + pointer_to_nowhere + whole[at + len(pointer_to_nowhere) :])
    countries = Countries(str(path))
    assert [countries.look_up(AMERICAN, "") for _ in range(3)] == ["US"] * 3
    assert errors(logs) == ["country file damaged"]
