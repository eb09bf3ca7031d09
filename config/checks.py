"""The rules of variables that types cannot express. Called by `config/settings.read`."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Final
from urllib.parse import urlsplit

import maxminddb

from config import addresses, hosts, secret_key
from config.variables import Variables

_BASE_URL: Final = re.compile(
    r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9_-][a-z0-9._-]*)(?::[0-9]{1,5})?/?",
    re.ASCII | re.IGNORECASE,
)
_HOPS: Final = re.compile(r"[0-9]{1,2}")


class SettingsError(Exception):
    """An unusable value. The message is one line, for the operator."""


def check(values: Variables) -> None:
    """Raises SettingsError, naming the variable and the rule, if a rule is broken."""
    _check_base_url(values.base_url)
    _check_stores(values)
    _check_trusted_proxies(values.trusted_proxies)
    _check_dns_resolver(values.dns_resolver)
    _check_secret_key(values.secret_key)
    _check_hostnames("CNAME_HOST", values.cname_host, [values.cname_host])
    names = [name.removeprefix("*.") for name in hosts.split_names(values.reserved_hosts)]
    _check_hostnames("RESERVED_HOSTS", values.reserved_hosts, names)
    _check_geoip_database(values.geoip_database)
    _check_tls_pair(values)
    if values.internal_port and values.internal_port == values.port:
        raise SettingsError("INTERNAL_PORT: must not be PORT")
    if values.env == "production":
        _check_production(values)


@contextmanager
def naming(variable: str) -> Iterator[None]:
    """Raises SettingsError, naming `variable`, if the body raises UnusableAddress."""
    try:
        yield
    except addresses.UnusableAddress as error:
        raise SettingsError(f"{variable}: {error}") from None


def _check_stores(values: Variables) -> None:
    if values.redis_url:
        with naming("REDIS_URL"):
            addresses.check_redis(values.redis_url)
    if values.mongodb_uri:
        with naming("MONGODB_URI"):
            addresses.check_mongodb(values.mongodb_uri)


def _check_tls_pair(values: Variables) -> None:
    if bool(values.tls_cert) != bool(values.tls_key):
        missing, present = ("TLS_KEY", "TLS_CERT") if values.tls_cert else ("TLS_CERT", "TLS_KEY")
        raise SettingsError(f"{missing}: must be set when {present} is set")


def _check_production(values: Variables) -> None:
    for name, value in (
        ("REDIS_URL", values.redis_url),
        ("MONGODB_URI", values.mongodb_uri),
        ("BASE_URL", values.base_url),
    ):
        if not value:
            raise SettingsError(f"{name}: must be set when ENV=production")
    if not values.allow_insecure:
        _check_security(values)


def _check_security(values: Variables) -> None:
    unless = "when ENV=production, unless ALLOW_INSECURE=true"
    if not values.base_url.lower().startswith("https://"):
        raise SettingsError(f"BASE_URL: must begin with https:// {unless}")
    if not values.secret_key:
        raise SettingsError(f"SECRET_KEY: must be set (openssl rand -base64 32) {unless}")


def _check_base_url(text: str) -> None:
    try:
        usable = not text or (_BASE_URL.fullmatch(text) and urlsplit(text).port != 0)
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(
            f"BASE_URL={text!r}: must be http(s)://host[:port] in ASCII and nothing more"
        )


def _check_trusted_proxies(text: str) -> None:
    if not text or _HOPS.fullmatch(text):
        return
    for network in text.split(","):
        try:
            ip_network(network.strip())
        except ValueError:
            raise SettingsError(
                f"TRUSTED_PROXIES={text!r}: must be a number of hops, or networks such as "
                "10.0.0.0/8 separated by commas"
            ) from None


def _check_hostnames(variable: str, text: str, names: Sequence[str]) -> None:
    if text and not all(map(hosts.is_hostname, names)):
        raise SettingsError(
            f"{variable}={text!r}: must be a hostname such as www.example.com, in its ASCII form"
        )


def _check_dns_resolver(text: str) -> None:
    try:
        hosts.dns_server(text)
    except ValueError:
        raise SettingsError(
            f"DNS_RESOLVER={text!r}: must be an IP address, or address:port such as 10.0.0.2:53 "
            "or [fd00::2]:53"
        ) from None


def _check_secret_key(text: str) -> None:
    """Check SECRET_KEY without repeating its value in the message."""
    try:
        secret_key.keys_of(text)
    except ValueError:
        raise SettingsError(f"SECRET_KEY: {secret_key.RULE}") from None


def _check_geoip_database(path: str) -> None:
    """Check that the file can be opened. `clicks/country` opens it again."""
    try:
        if path:
            maxminddb.open_database(path).close()
    except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
        reason = getattr(error, "strerror", None) or "not in the MaxMind layout"
        raise SettingsError(
            f"GEOIP_DATABASE={path!r}: must be a file that can be opened: {reason}"
        ) from None
