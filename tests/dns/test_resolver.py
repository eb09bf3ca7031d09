"""Names of the private network are resolved only if the resolver may use local names."""

from pathlib import Path

import pytest

from config.settings import Settings
from tests.dns.dns_server import running
from tracker.dns import resolver as module
from tracker.dns.resolver import HostResolver


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("10.0.0.7 receiver.internal receiver", ["10.0.0.7"]),
        ("10.0.0.7\tReceiver # theirs\nfd00::7 receiver", ["10.0.0.7", "fd00::7"]),
        ("# 10.0.0.7 receiver\n10.0.0.8 other\nx receiver\n\n", []),
    ],
)
async def test_the_hosts_file_is_read_only_with_local_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, found: list[str]
) -> None:
    monkeypatch.setattr(module, "_HOSTS_FILE", tmp_path / "hosts")
    (tmp_path / "hosts").write_text(line)
    async with running() as server:
        dns_address = Settings(dns_resolver=server.address).dns_address
        assert await HostResolver(dns_address, local_names=True).resolve("receiver") == found
        assert (("receiver", "A") in server.asked) is not bool(found)
        assert await HostResolver(dns_address).resolve("receiver") == []
