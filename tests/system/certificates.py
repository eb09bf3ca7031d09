"""Certificate files, and a client that reads the certificate of a server."""

import http.client
import ssl
from pathlib import Path
from typing import NamedTuple

import trustme

from tests.ports import free_port
from tests.waiting import PROCESS_PATIENCE_SECONDS


class Certificate(NamedTuple):
    """The files that TLS_CERT and TLS_KEY name."""

    cert: Path
    key: Path

    @property
    def variables(self) -> dict[str, str]:
        return {"TLS_CERT": str(self.cert), "TLS_KEY": str(self.key)}


class Authority:
    """A certificate authority for localhost, which writes to one pair of files."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.files = Certificate(folder / "certificate.pem", folder / "key.pem")
        self.trust = ssl.create_default_context()
        self._authority.configure_trust(self.trust)

    def issue(self) -> Certificate:
        """Issue a certificate in place of the one before, as a renewal does; return its files."""
        issued = self._authority.issue_cert("localhost")
        self.files.cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        self.files.key.write_bytes(issued.private_key_pem.bytes())
        return self.files

    def write(self, path: Path) -> None:
        """Write the authority's own certificate to `path`, for clients that trust it."""
        self._authority.cert_pem.write_to_path(path)

    def client(self, port: int) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "localhost", port, timeout=PROCESS_PATIENCE_SECONDS, context=self.trust
        )

    def shown(self, port: int) -> str:
        """Make a request on a new connection; return the certificate's serial number."""
        connection = self.client(port)
        try:
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
            certificate = connection.sock.getpeercert() or {}
            return str(certificate["serialNumber"])
        finally:
            connection.close()


def named_example(scheme: str) -> dict[str, str]:
    """Return the variables of a service on a free port, whose host is not localhost."""
    port = free_port()
    return {"PORT": str(port), "BASE_URL": f"{scheme}://go.example:{port}"}
