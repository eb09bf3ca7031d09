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

_CONFIGURATION: Final = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
{modules}
events {{ worker_connections 1024; }}
http {{
  access_log {access_log};
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {prepared}
  server {{
    listen 127.0.0.1:{port};
    location / {{ {answer} }}
  }}
}}
"""

_PREPARED: Final = """
init_by_lua_block {{
  redis = require "nginx.redis"
  links = {{}}
  for line in io.lines("{links}") do
    local slug, destination = line:match("^(%S+) (%S+)$")
    links[slug] = destination
  end
}}
init_worker_by_lua_block {{ math.randomseed(ngx.now() * 1000 + ngx.worker.pid()) }}
"""

_RECORD: Final = """
content_by_lua_block {{
  local slug = ngx.var.uri:sub(4)
  local destination = links[slug]
  if not destination then return ngx.exit(404) end
  local at = math.floor(ngx.now() * 1000)
  local time, random = string.format("%012x", at), math.random
  local id = string.format("%s-%s-7%03x-%04x-%06x%06x", time:sub(1, 8), time:sub(9),
    random(0, 0xfff), random(0x8000, 0xbfff), random(0, 0xffffff), random(0, 0xffffff))
  local client = redis:new()
  client:set_timeout(1000)
  if not client:connect("{host}", {port}) then return ngx.exit(503) end
  local query = ngx.var.args or ""
  local click = {{id, at, slug, ngx.var.remote_addr, ngx.var.http_user_agent or "",
    ngx.var.http_referer or "", query}}
  if not client:xadd("{stream}", "*", "1", table.concat(click, "\\t")) then
    return ngx.exit(503)
  end
  client:set_keepalive(10000, 256)
  ngx.header["Cache-Control"] = "no-store"
  if query ~= "" then destination = destination .. "&" .. query end
  ngx.header["Location"] = destination .. "&click_id=" .. id
  return ngx.exit(302)
}}
"""


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
    record = _RECORD.format(host=redis.hostname, port=redis.port, stream=CLICKS)
    modules = "".join(f"load_module {one};\n" for one in _LUA_MODULES)
    return _program(folder, record, _PREPARED.format(links=links), modules)


def _program(folder: Path, answer: str, prepared: str = "", modules: str = "") -> Program:
    given = {"folder": folder, "access_log": access_log(folder), "modules": modules}

    def command(port: int) -> list[str]:
        configuration = folder / "nginx.conf"
        text = _CONFIGURATION.format(port=port, answer=answer, prepared=prepared, **given)
        configuration.write_text(text)
        return ["nginx", "-c", str(configuration), "-e", str(folder / "nginx-error.log")]

    return Program("nginx", folder / "nginx.log", {}, command, accepts)
