"""The TLS side of a listening socket. The caller decides when certificates are read again."""

import ssl
from pathlib import Path


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 or later for a server, from a certificate chain and its key, both PEM files, without
    a passphrase.

    Raises OSError if one cannot be read, ssl.SSLError (an OSError, too) if they do not fit.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, certificate, key)
    return context


def reload_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Have `context` use these files for the connections to come. Raises as `server_context` does,
    and then nothing has changed.
    """
    server_context(certificate, key)
    _load(context, certificate, key)


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    # Without a passphrase here OpenSSL would ask for one on the terminal, and wait.
    context.load_cert_chain(certificate, key, password="")
