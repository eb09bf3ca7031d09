"""A mongod of one test's own: without a replica set, with one not yet initiated, or with TLS."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from lab.processes import Process
from tests.ports import free_port
from tests.system.certificates import Authority
from tracker.stores.builtin.servers import mongod_program, mongodb_uri


@contextmanager
def standalone_mongodb(folder: Path) -> Iterator[str]:
    """Yield the URI of a mongod without a replica set, once it answers."""
    with _mongod(folder) as port:
        _wait(mongodb_uri(port)).close()
        yield mongodb_uri(port)


@contextmanager
def guarded_mongodb(folder: Path, authority: Authority) -> Iterator[str]:
    """Yield the URI, with user and password, of a mongod that speaks TLS only."""
    files = authority.issue()
    both, trusted = folder / "both.pem", folder / "trusted.pem"
    both.write_bytes(files.key.read_bytes() + files.cert.read_bytes())
    authority.write(trusted)
    tls = ("--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(both))
    with _mongod(folder, "--auth", *tls) as port:
        query = f"directConnection=true&tls=true&tlsCAFile={trusted}"
        # A client on the same machine may make the first user without a password.
        with _wait(f"mongodb://localhost:{port}/?{query}") as client:
            roles = [{"role": "readWriteAnyDatabase", "db": "admin"}]
            client.admin.command("createUser", "tracker", pwd="secret", roles=roles)
        yield f"mongodb://tracker:secret@localhost:{port}/?{query}"


@contextmanager
def uninitiated_mongodb(folder: Path) -> Iterator[int]:
    """Yield the port of a mongod whose replica set was never initiated."""
    with _mongod(folder, "--replSet", "rs0") as port:
        _wait(mongodb_uri(port)).close()
        yield port


@contextmanager
def _mongod(folder: Path, *options: str) -> Iterator[int]:
    """Yield the port of a mongod that is being started, in no replica set."""
    program = mongod_program(folder)

    def command(port: int) -> list[str]:
        given = program.command(port)
        where = given.index("--replSet")
        return [*given[:where], *given[where + 2 :], *options]

    process = Process(program._replace(command=command), free_port())
    try:
        process.start()
        yield process.port
    finally:
        process.end()


def _wait(uri: str) -> MongoClient[dict[str, Any]]:
    """Return a client once the mongod answers. The caller closes it."""
    client = MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=20_000)
    client.admin.command("ping")
    return client
