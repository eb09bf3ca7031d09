"""An attack from inside: keys that may do little read, last longer, or end stronger keys."""

from collections.abc import Mapping
from datetime import timedelta
from itertools import cycle
from typing import Any, Final

import orjson

from lab.abuse.attack import Report, Target, barrage, from_new_address, made
from lab.requests import call, head, post
from tracker.clock import iso, now

_RATE: Final = 20
_ENDS_AFTER: Final = timedelta(hours=1)
_SCOPES: Final = ("shares:write", "members:write", "keys:write")


async def weak_key(target: Target, seconds: float) -> Report:
    """Try what is beyond each of three keys, for as long as visitors click."""
    port, owner = target.port, target.attacker
    ends = iso(now() + _ENDS_AFTER)
    strong = await _make(target, owner.key, name="strong")
    weak = {
        scope: (await _make(target, owner.key, name="weak", scopes=[scope], expires_at=ends))["key"]
        for scope in _SCOPES
    }
    requests = cycle(_attempts(owner.account_id, strong["id"]))

    def attempt() -> bytes:
        scope, method, path, body = next(requests)
        fields = {"Authorization": f"Bearer {weak[scope]}", **from_new_address()}
        if method == "DELETE":
            return head(method, path, fields)
        return post(path, "application/json", orjson.dumps(body), fields)

    report = await barrage(port, attempt, _RATE, seconds, {"403"})
    report.findings += await _longer_keys(target, weak["keys:write"], ends)
    status, shares = await call(port, owner.key, "GET", f"/api/shares?accountId={owner.account_id}")
    if status != "200" or shares["rows"]:
        report.findings.append(f"the list of shares is answered {status}, and not empty")
    used, _ = await call(port, strong["key"], "GET", f"/api/keys?accountId={owner.account_id}")
    if used != "200":
        report.findings.append(f"the strong key is answered {used}")
    return report


def _attempts(account_id: str, strong_id: str) -> list[tuple[str, str, str, Mapping[str, Any]]]:
    """Return requests that are refused: the scope of the key, method, path and body."""
    own = {"accountId": account_id, "name": "more"}
    share = own | {"report": {"lastDays": 7, "panels": [{"groupBy": "link"}]}}
    invited = {"accountId": account_id, "email": "eve@example.com"}
    return [
        ("shares:write", "POST", "/api/shares", share),
        ("shares:write", "POST", "/api/shares", share | {"show_link_names": True}),
        ("members:write", "POST", "/api/invitations", invited | {"role": "owner"}),
        ("members:write", "POST", "/api/invitations", invited | {"role": "viewer"}),
        ("members:write", "POST", "/api/keys", own | {"scopes": ["members:write"]}),
        ("keys:write", "POST", "/api/keys", own),
        ("keys:write", "POST", "/api/keys", own | {"scopes": ["reports:read"]}),
        ("keys:write", "DELETE", f"/api/keys/{strong_id}", {}),
        ("keys:write", "DELETE", f"/api/keys/{strong_id}?descendants=true", {}),
    ]


async def _longer_keys(target: Target, key: str, ends: str) -> list[str]:
    """Try to make keys that end later than their maker; return what went wrong."""
    findings = []
    child = await _make(target, key, name="child", scopes=["keys:write"])
    if child["expires_at"] != ends:
        findings.append(f"a key that a key made ends {child['expires_at']}, its maker {ends}")
    later = {"name": "later", "scopes": ["keys:write"], "expires_at": "2099-01-01T00:00:00Z"}
    body = {"accountId": target.attacker.account_id, **later}
    status, _ = await call(target.port, key, "POST", "/api/keys", body)
    if status != "400":
        findings.append(f"a key that ends later is answered {status}")
    return findings


async def _make(target: Target, key: str, **fields: Any) -> dict[str, Any]:
    body = {"accountId": target.attacker.account_id, **fields}
    return dict(await made(target.port, key, "/api/keys", body))
