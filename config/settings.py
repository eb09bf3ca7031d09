"""The settings of a process: its checked environment variables, and values derived from them.

`read` is called by `run.py` and the scripts. The table of variables is in `config/variables`.
Nothing else of the service reads the environment, except for the programs of the built-in stores:
`tracker/stores/builtin/binaries`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from config import addresses, checks, description, hosts, secret_key
from config.checks import SettingsError
from config.description import describe
from config.variables import Variables

__all__ = ["Settings", "SettingsError", "describe", "read"]


class Settings(Variables, frozen=True, kw_only=True):
    """The variables, and the values derived from them."""

    @property
    def builtin_redis(self) -> bool:
        """Return whether the service starts its own Redis."""
        return not self.redis_url

    @property
    def builtin_mongodb(self) -> bool:
        """Return whether the service starts its own MongoDB."""
        return not self.mongodb_uri

    @property
    def public_url(self) -> str:
        """Return the public address of the service, without a slash at the end."""
        scheme = "https" if self.tls_cert else "http"
        return self.base_url.rstrip("/") or f"{scheme}://localhost:{self.port}"

    @property
    def hsts(self) -> str:
        """Return the value of Strict-Transport-Security, or an empty string to send none.

        Browsers apply the header to every port of a host. On localhost it would break the other
        services that are developed there.
        """
        is_local = urlsplit(self.base_url).hostname in ("localhost", None)
        if not self.tls_cert or is_local or not self.hsts_seconds:
            return ""
        return f"max-age={self.hsts_seconds}"

    @property
    def serves_claimed_domains(self) -> bool:
        """Return whether the only claim to a domain is served before it is proven."""
        if self.serve_claimed_domains == "auto":
            return self.env != "production"
        return self.serve_claimed_domains == "always"

    @property
    def reserved_names(self) -> list[str]:
        """Return the names in `reserved_hosts` in lower case. Some begin with `*.`."""
        return hosts.split_names(self.reserved_hosts)

    @property
    def listen_address(self) -> str:
        """Return the address to listen on."""
        return self.host or ("127.0.0.1" if self.env == "development" else "0.0.0.0")  # noqa: S104

    @property
    def http_targets_allowed(self) -> bool:
        """Return whether webhooks may target plain http://."""
        return self.webhook_allow_http or self.env != "production"

    @property
    def secret_keys(self) -> tuple[bytes, ...]:
        """Return the keys in `secret_key`; the first encrypts. Empty if it is not set."""
        return secret_key.keys_of(self.secret_key)

    @property
    def dns_address(self) -> tuple[str, int] | None:
        """Return the (IP address, port) in `dns_resolver`, None for the system's resolver."""
        return hosts.dns_server(self.dns_resolver)

    @property
    def data_path(self) -> Path:
        """Return the absolute path of `data_dir`."""
        return Path(self.data_dir).resolve()


def read(environment: Mapping[str, str]) -> Settings:
    """Return the settings in `environment`.

    Raises SettingsError, naming the variable and the rule, if a value breaks a rule.
    """
    values = _convert_all(environment)
    if environment.get("DYNO"):
        values["env"] = "production"
    settings = Settings(**values)
    checks.check(settings)
    if "mongodb_database" not in values:
        settings = _with_database_of_uri(settings)
    return settings


def _convert_all(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        if text := environment.get(field.encode_name, "").strip():
            values[field.name] = _convert(field, text)
    return values


def _convert(field: msgspec.structs.FieldInfo, text: str) -> Any:
    # The words of a closed list may be in any case, such as LOG_LEVEL=INFO.
    plain = text.lower() if description.is_choice(field.type) else text
    try:
        return msgspec.convert(plain, field.type, strict=False)
    except msgspec.ValidationError:
        rule = description.rule(field.type)
        raise SettingsError(f"{field.encode_name}={text!r}: must be {rule}") from None


def _with_database_of_uri(settings: Settings) -> Settings:
    with checks.naming("MONGODB_URI"):
        name = addresses.database_of(settings.mongodb_uri)
    return msgspec.structs.replace(settings, mongodb_database=name) if name else settings
