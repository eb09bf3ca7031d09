"""The data folder of the built-in stores: its lock, and the addresses of the running stores.

Used by `stores/builtin/stores`. The folder has two files.

- `lock` is under an flock as long as the service or any of its stores lives: stores inherit the
  descriptor. It holds the pid of the service, which may be stale: it is for messages, and to
  distinguish a running service from the stores of a killed one.
- `stores.json` holds the addresses.

Guarantee: two services never run on the same data. Only the flock decides.
"""

import fcntl
import os
import tempfile
from pathlib import Path

import msgspec

from tracker.stores.builtin.binaries import StoresError


class DataInUse(StoresError):
    """A data folder that another service runs on."""


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of the stores of service `pid`. That of a store not built in is empty."""

    pid: int
    redis_url: str
    mongodb_uri: str


def check_writable(path: Path) -> None:
    """Make the folder of the spool if needed, and check that files can be written to it.

    Raises StoresError if they cannot.
    """
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


class DataFolder:
    """The data folder and its lock. After a successful `try_lock`, call `release` in the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_file = path / "lock"
        self._addresses = path / "stores.json"
        self._descriptor = -1

    @property
    def descriptor(self) -> int:
        """Return the descriptor of the lock, for child processes to inherit; -1 unless locked."""
        return self._descriptor

    def try_lock(self) -> bool:
        """Make the folder if needed and lock it; return False if another process holds the lock.

        Raises StoresError if the folder cannot be made or written to.
        """
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
        # First remove the addresses of a killed service, which must not be read with this pid.
        self.unpublish()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Close the lock's descriptor, which ends the lock when no child holds it any more.

        Unlocking would free the folder under a child that still lives.
        """
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def service_pid(self) -> int | None:
        """Return the pid of the service that locked the folder, None if that has ended.

        Call this while the folder is locked.
        """
        try:
            pid = int(self._lock_file.read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return None
        return pid if pid > 0 and _is_alive(pid) else None

    def addresses(self) -> Addresses | None:
        """Return the addresses of the service that runs here, None until it is ready.

        Call this while the folder is locked.
        """
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
