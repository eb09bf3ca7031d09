"""`ops/nginx.conf`: requests through nginx, with a certificate for each name."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
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

pytestmark = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")

FRAME = """{user} daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    include {folder}/tracker.conf;
}}
"""


@pytest.fixture
def nginx(proxied: Proxied, tmp_path: Path) -> Iterator[Proxy]:
    """Yield nginx with the configuration as it is, but its own ports and folders."""
    port = free_port()
    changes = {
        "    listen [::]:80 default_server;\n": "",
        "    listen [::]:443 ssl http2 default_server;\n": "",
        "listen 80 ": f"listen 127.0.0.1:{free_port()} ",
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "127.0.0.1:8080": proxied.addresses[0],
        "/etc/nginx/tracker": str(tmp_path),
    }
    (tmp_path / "tracker.conf").write_text(replaced(ROOT / "ops" / "nginx.conf", changes))
    # Otherwise workers are another user's, who could not read the folder of the tests.
    user = "user root;" if os.geteuid() == 0 else ""
    (tmp_path / "nginx.conf").write_text(FRAME.format(folder=tmp_path, user=user))
    trust = certificates(tmp_path)
    command = ["nginx", "-c", f"{tmp_path}/nginx.conf", "-e", f"{tmp_path}/error.log"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert "test is successful" in checked.stderr, checked.stderr
    with process(command, port, tmp_path / "nginx.log"):
        yield Proxy(port, trust)


def certificates(folder: Path) -> ssl.SSLContext:
    """Write the certificates of two names; return a context that trusts them."""
    authority, trust = trustme.CA(), ssl.create_default_context()
    authority.configure_trust(trust)
    for name in (BASE_HOST, PROVEN):
        issued = authority.issue_cert(name)
        chain, key = folder / f"{name}.pem", folder / f"{name}.key"
        chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
    return trust


def test_nginx_passes_on_requests_for_the_names_that_have_a_certificate(
    nginx: Proxy, settings: Settings, mongodb: MongoClient[dict[str, Any]]
) -> None:
    check_click(nginx, mongodb[settings.mongodb_database]["clicks"])
    assert nginx.get(PROVEN, "/livez").status == 200
    with pytest.raises(ssl.SSLError):
        nginx.get(UNPROVEN, "/livez")
