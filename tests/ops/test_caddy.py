"""`ops/Caddyfile`: certificates on demand, for proven domains alone."""

import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from config.settings import Settings
from tests.ops.proxied import (
    BASE_HOST,
    PROVEN,
    UNPROVEN,
    Proxied,
    Proxy,
    check_click,
    process,
    replaced,
)
from tests.paths import ROOT
from tests.ports import free_port
from tests.waiting import until

pytestmark = pytest.mark.skipif(not shutil.which("caddy"), reason="caddy is not installed")

CADDYFILE = ROOT / "ops" / "Caddyfile"


@pytest.fixture
def caddy(proxied: Proxied, tmp_path: Path) -> Iterator[Proxy]:
    """Yield Caddy with the configuration as it is, but its own authority, ports and folder."""
    port, folder = free_port(), tmp_path / "caddy"
    own = f"""{{
    local_certs
    skip_install_trust
    admin off
    http_port {free_port()}
    https_port {port}
    storage file_system {folder}
    on_demand_tls {{"""
    copy = tmp_path / "Caddyfile"
    copy.write_text(replaced(CADDYFILE, {"{\n\ton_demand_tls {": own}))
    public, internal = proxied.addresses
    command = ("caddy", "run", "--adapter", "caddyfile", "--config", str(copy))
    variables = {
        "HOME": str(tmp_path),
        "TRACKER_HOST": BASE_HOST,
        "TRACKER_PUBLIC": public,
        "TRACKER_INTERNAL": internal,
    }
    root = folder / "pki" / "authorities" / "local" / "root.crt"
    with process(command, port, tmp_path / "caddy.log", **variables):
        until(root.is_file)
        proxy = Proxy(port, ssl.create_default_context(cafile=str(root)))
        # The certificate of the base host is made at the start, but not before the port is open.
        until(lambda: has_certificate(proxy, BASE_HOST))
        yield proxy


def has_certificate(proxy: Proxy, name: str) -> bool:
    try:
        return proxy.get(name, "/livez").status == 200
    except ssl.SSLError:
        return False


def test_caddy_gets_certificates_for_the_base_host_and_proven_domains_alone(
    caddy: Proxy, settings: Settings, mongodb: MongoClient[dict[str, Any]]
) -> None:
    check_click(caddy, mongodb[settings.mongodb_database]["clicks"])
    assert caddy.get(BASE_HOST, "/metrics").status == 404
    assert has_certificate(caddy, PROVEN)
    assert not has_certificate(caddy, UNPROVEN)
    assert not has_certificate(caddy, "nobody.test")
