"""nginx as others use it: redirecting only, and with Lua recording each click in Redis first.

Debian has what it needs: nginx-light, libnginx-mod-http-lua, lua-nginx-redis.
"""

import shutil
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from lab.bench.bare import DESTINATION
from lab.processes import accepts
from lab.scene import Scene, destination_of
from tracker.stores.builtin.child import Program

CLICKS: Final = "nginx:clicks"
"""The stream that Lua appends to."""

_MODULES: Final = Path("/usr/lib/nginx/modules")
_LUA_MODULES: Final = (_MODULES / "ndk_http_module.so", _MODULES / "ngx_http_lua_module.so")
_CLIENT: Final = Path("/usr/share/lua/5.1/nginx/redis.lua")


def missing() -> str:
    return "" if shutil.which("nginx") else "nginx is not installed"


def missing_for_lua() -> str:
    absent = [one.name for one in (*_LUA_MODULES, _CLIENT) if not one.exists()]
    return missing() or (f"nginx has no {', '.join(absent)}" if absent else "")


def access_log(folder: Path) -> Path:
    return folder / "nginx-access.log"


def redirecting(folder: Path) -> Program:
    return _program(folder, f"return 302 {DESTINATION};")


def recording(folder: Path, redis_url: str, scene: Scene) -> Program:
    """Return the program of an nginx that appends clicks on the scene's links to CLICKS."""
    links, redis = folder / "nginx-links.txt", urlsplit(redis_url)
    lines = (f"{place.slug} {destination_of(place.slug)}\n" for place in scene.places)
    links.write_text("".join(lines))
    record = _text("record", host=redis.hostname, port=redis.port, stream=CLICKS)
    modules = "".join(f"load_module {one};\n" for one in _LUA_MODULES)
    return _program(folder, record, _text("prepared", links=links), modules)


def _text(name: str, **given: object) -> str:
    template = Path(__file__).with_name(f"nginx_{name}.conf").read_text()
    return template.format(**given)


def _program(folder: Path, answer: str, prepared: str = "", modules: str = "") -> Program:
    given = {"folder": folder, "access_log": access_log(folder), "modules": modules}

    def command(port: int) -> list[str]:
        configuration = folder / "nginx.conf"
        text = _text("configuration", port=port, answer=answer, prepared=prepared, **given)
        configuration.write_text(text)
        return ["nginx", "-c", str(configuration), "-e", str(folder / "nginx-error.log")]

    return Program("nginx", folder / "nginx.log", {}, command, accepts)
