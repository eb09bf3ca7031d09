"""Refuses every connection, datagram and look-up of a name beyond loopback, and records it.

An attempt fails as if there were no network, and the run that made it fails at its end, because the
service may take the failure for that of a receiver.

- Python's own sockets report what they do to an audit hook.
- uvloop's connections and datagrams do not, so its loops are wrapped.
- Child processes inherit the guard by their environment, also where they get a chosen one.
- Other programs are not guarded: stores, proxies and the browser are given loopback.
"""

import errno
import functools
import ipaddress
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

ATTEMPTS: Final = "LOOPBACK_ATTEMPTS"
"""The variable with the path of the file that gets a line for each attempt."""

_FOLDER: Final = Path(__file__).parent
_ROOT: Final = _FOLDER.parent.parent
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_SENDING: Final = ("socket.connect", "socket.sendto", "socket.sendmsg")


def variables(attempts: Path) -> dict[str, str]:
    """Return the variables with which a process is guarded, and records in `attempts`."""
    return _inheriting({ATTEMPTS: str(attempts), "PYTHONPATH": os.environ.get("PYTHONPATH", "")})


@functools.cache
def install() -> None:
    """Guard this process for the rest of its life, and those that it starts."""
    sys.addaudithook(_audit)
    _guard_names()
    _guard_children()
    _guard_uvloop()


def _inheriting(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child, which is guarded and records where this process does."""
    guarding = {ATTEMPTS: os.environ[ATTEMPTS]} if ATTEMPTS in os.environ else {}
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(_FOLDER) not in paths:
        paths.insert(0, str(_FOLDER))
    return {**guarding, **environment, "PYTHONPATH": os.pathsep.join(paths)}


def _audit(event: str, details: tuple[Any, ...]) -> None:
    if event in _SENDING:
        sender, address = details
        # Without an address it goes where the socket is connected to.
        if sender.family in _INTERNET and address is not None:
            _check_address(address)
    elif event == "socket.gethostbyname":
        _check_name(details[0])
    elif event == "socket.gethostbyaddr":
        _check_address((details[0], "its name"))
    elif event == "socket.getnameinfo":
        _check_address(details[0])


def _check_address(address: tuple[Any, ...]) -> None:
    if not _is_here(address[0]):
        _refuse(f"{address[0]}:{address[1]}")


def _check_name(host: object) -> None:
    """Refuse to look `host` up, unless no name server would be asked."""
    text = _text(host)
    if _is_here(text) or _literal(text) is not None or not _can_be_asked(text):
        return
    if text.endswith(".invalid"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    _refuse(f"{text} (its address)")


def _can_be_asked(name: str) -> bool:
    """Return False for a name that Python itself refuses: a label is empty or too long."""
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def _is_here(host: object) -> bool:
    text = _text(host)
    if text in ("", "localhost"):
        return True
    address = _literal(text)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _text(host: object) -> str:
    text = host.decode(errors="replace") if isinstance(host, bytes | bytearray) else host
    return str(text or "").lower()


def _literal(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _refuse(where: str) -> None:
    program = " ".join(sys.orig_argv[:4])
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    line = " | ".join((where, f"{program} ({os.getpid()})", _place(), test)).replace("\n", " ")
    with suppress(OSError, KeyError):
        file = os.open(os.environ[ATTEMPTS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line}\n".encode(errors="replace"))
        finally:
            os.close(file)
    raise OSError(errno.ENETUNREACH, f"not beyond loopback: {where}")


def _place() -> str:
    """Return the line of the project that is being executed, or of the outermost module."""
    place = ""
    for frame, line in traceback.walk_stack(None):
        place = f"{frame.f_code.co_filename}:{line}"
        if _is_of_project(frame.f_code.co_filename):
            break
    return place


def _is_of_project(name: str) -> bool:
    path = Path(name)
    return path.is_relative_to(_ROOT) and not {"site-packages", "loopback"} & set(path.parts)


def _guard_names() -> None:
    """Wrap `getaddrinfo`, whose audit event does not tell that flags forbid to ask anyone."""
    original = socket.getaddrinfo

    def getaddrinfo(
        host: Any,
        port: Any,
        family: int = 0,
        type: int = 0,  # noqa: A002 - its name
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            _check_name(host)
        return original(host, port, family, type, proto, flags)

    socket.getaddrinfo = getaddrinfo


def _guard_children() -> None:
    original = subprocess.Popen.__init__

    def start(process: Any, *arguments: Any, **options: Any) -> None:
        if options.get("env") is not None:
            options["env"] = _inheriting(options["env"])
        original(process, *arguments, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign,assignment]


def _guard_uvloop() -> None:
    """Wrap the loops of uvloop, now or once it is imported: that is the process's own affair."""
    if "uvloop" in sys.modules:
        _wrap_loop(sys.modules["uvloop"].Loop)
    else:
        sys.meta_path.insert(0, _OfUvloop())


class _OfUvloop(MetaPathFinder):
    """Finds uvloop as it would be found without it, and wraps its loops when it is loaded."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != "uvloop":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_wrap(module: Any) -> None:
            load(module)
            _wrap_loop(module.Loop)

        spec.loader.exec_module = load_and_wrap  # type: ignore[method-assign]
        return spec


def _wrap_loop(loop: Any) -> None:
    for name, guarding in {
        "create_connection": _connecting,
        "create_datagram_endpoint": _sending,
        "getaddrinfo": _looking_up,
        "subprocess_exec": _starting,
        "subprocess_shell": _starting,
    }.items():
        setattr(loop, name, guarding(getattr(loop, name)))


def _connecting(original: Callable[..., Any]) -> Callable[..., Any]:
    async def create_connection(
        loop: Any, factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        if host is not None:
            _check_name(host)
            _check_address((host, port))
        return await original(loop, factory, host, port, **options)

    return create_connection


def _looking_up(original: Callable[..., Any]) -> Callable[..., Any]:
    async def getaddrinfo(loop: Any, host: Any, port: Any, **options: Any) -> Any:
        if not options.get("flags", 0) & socket.AI_NUMERICHOST:
            _check_name(host)
        return await original(loop, host, port, **options)

    return getaddrinfo


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    async def start(loop: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("env") is not None:
            options["env"] = _inheriting(options["env"])
        return await original(loop, *arguments, **options)

    return start


def _sending(original: Callable[..., Any]) -> Callable[..., Any]:
    async def create_datagram_endpoint(
        loop: Any,
        factory: Callable[[], Any],
        local_addr: Any = None,
        remote_addr: Any = None,
        **options: Any,
    ) -> Any:
        if remote_addr is not None:
            _check_address(remote_addr)
        transport, receiver = await original(
            loop, lambda: _given_sender(factory()), local_addr, remote_addr, **options
        )
        return _Sender(transport), receiver

    return create_datagram_endpoint


def _given_sender(receiver: Any) -> Any:
    """Return a protocol of datagrams, to be connected to a guarded transport."""
    connected = receiver.connection_made
    receiver.connection_made = lambda transport: connected(_Sender(transport))
    return receiver


class _Sender:
    """A transport of uvloop that sends no datagram beyond loopback."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def sendto(self, data: Any, addr: Any = None) -> None:
        if addr is not None:
            _check_address(addr)
        self._transport.sendto(data, addr)
