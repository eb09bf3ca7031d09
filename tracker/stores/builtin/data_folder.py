"""The data folder of the built-in stores: its lock, and the addresses of the running stores.

- `lock` is under an flock while the service or a store lives; its pid may be stale.
- `stores.json` holds the addresses.
- `sockets` is where the stores listen.

Guarantee: two services never run on the same data. Only the flock decides.
"""

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from tracker.stores.builtin.binaries import StoresError

_SOCKET: Final = re.compile(r"[A-Za-z0-9 ._/-]{1,103}")
"""The path of a socket. Kernels allow 103 or 107 bytes; mongod reads a comma and a colon."""


class DataInUse(StoresError):
    """A data folder that another service runs on."""


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of the stores of service `pid`; empty for a store that is not built in."""

    pid: int
    redis_url: str
    mongodb_uri: str


def check_writable(path: Path) -> None:
    """Check that files can be written to the folder. Raises StoresError if they cannot."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"x")
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> StoresError:
    return StoresError(
        f"DATA_DIR={path}: must be a folder that can be written to: {error.strerror}"
    )


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner may enter, and return it. Raises StoresError."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoresError(f"{folder}: {error.strerror}") from None
    return folder


class DataFolder:
    """The data folder and its lock. After a successful `try_lock`, call `release` in the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_file = path / "lock"
        self._addresses = path / "stores.json"
        self._descriptor = -1

    @property
    def descriptor(self) -> int:
        """Return the lock's descriptor, for child processes to inherit; -1 unless locked."""
        return self._descriptor

    def try_lock(self) -> bool:
        """Lock the folder; return False if another process has. Raises StoresError."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unusable(self.path, error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write_pid(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def _write_pid(self, descriptor: int) -> None:
        # A killed service's addresses must not be read with this pid.
        self.unpublish()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Close the descriptor. Unlocking would free the folder under a child that still lives."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def sockets(self, stack: ExitStack) -> Path:
        """Return a folder for sockets that only its owner may enter.

        If this folder's path does not suit a socket, it is one in /tmp, which `stack` removes.
        """
        folder = self.path / "sockets"
        if _SOCKET.fullmatch(str(folder / "mongodb.sock")):
            return private_folder(folder)
        # A TemporaryDirectory would also be removed when a forked process exits. TMPDIR may be too
        # long as well.
        folder = Path(tempfile.mkdtemp(prefix="tracker-", dir="/tmp"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def service_pid(self) -> int | None:
        """Return the pid of the service on the locked folder, None if it has ended."""
        try:
            pid = int(self._lock_file.read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return None
        return pid if pid > 0 and _is_alive(pid) else None

    def addresses(self) -> Addresses | None:
        """Return the addresses of the service on the locked folder, None until it is ready."""
        try:
            addresses = msgspec.json.decode(self._addresses.read_bytes(), type=Addresses)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return addresses if addresses.pid == self.service_pid() else None

    def publish(self, addresses: Addresses) -> None:
        """Write the addresses for other processes to read. The file is replaced atomically."""
        draft = self._addresses.with_suffix(".draft")
        draft.touch(mode=0o600)
        draft.write_bytes(msgspec.json.encode(addresses))
        draft.replace(self._addresses)

    def unpublish(self) -> None:
        self._addresses.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
