"""The attack by strangers who ask a custom domain for paths that no link has."""

import secrets

from lab.abuse.attack import Report, Target, barrage, from_new_address
from lab.requests import head


async def unknown_paths(target: Target, seconds: float) -> Report:
    """Ask for a new path each time, as another client each time, a thousand a second."""

    def make() -> bytes:
        fields = {"Host": target.domain, **from_new_address()}
        return head("GET", f"/{secrets.token_hex(8)}", fields)

    return await barrage(target.port, make, 1_000, seconds, {"404", "429"}, connections=64)
