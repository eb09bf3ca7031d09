"""Certificates of a test."""

import ssl
from pathlib import Path

import trustme
from tornado.web import RequestHandler

from tests.http.serving import application


class Told(RequestHandler):
    def get(self) -> None:
        self.write(self.request.protocol)

    def post(self) -> None:
        self.write(self.request.body)


APPLICATION = application(("/", Told))


def issue(authority: trustme.CA, folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate for localhost and of its key."""
    issued = authority.issue_cert("localhost")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    return certificate, key


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context
