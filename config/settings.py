"""Every environment variable of the service, once: name, type, default and meaning.

`read` turns an environment into `Settings` or raises `SettingsError` naming the variable and the
rule. Nothing else in the project reads the environment.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import maxminddb
import msgspec
from msgspec import Meta

from config import addresses, secret_key

_BASE_URL = re.compile(
    r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9_-][a-z0-9._-]*)(?::[0-9]{1,5})?/?",
    re.ASCII | re.IGNORECASE,
)
_HOPS = re.compile(r"[0-9]{1,2}")
_HOSTNAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    r"(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS_AND_PORT = re.compile(r"(?:\[([^\]]*)\]|([0-9.]+)):([0-9]{1,5})")


class SettingsError(Exception):
    """A variable has a value that cannot be used. The message is one line, for the operator."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename=str.upper):
    """The configuration. A field `base_url` is the variable `BASE_URL`."""

    env: Annotated[
        Literal["development", "production"],
        Meta(description="production refuses the built-in stores (also when DYNO is set)"),
    ] = "development"
    host: Annotated[
        str,
        Meta(
            description="address to listen on; empty: 127.0.0.1 in development, "
            "every address in production"
        ),
    ] = ""
    port: Annotated[
        int, Meta(ge=0, le=65535, description="port to listen on; 0 takes a free one")
    ] = 8080
    internal_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="port of its own, without TLS, for /metrics, /internal/, /docs and "
            "/openapi.json, which PORT then does not answer; 0: they are on PORT",
        ),
    ] = 0
    metrics_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="port on which a process of role drain answers /metrics, /healthz, /livez "
            "and /readyz, without TLS; 0: none",
        ),
    ] = 0
    base_url: Annotated[
        str,
        Meta(description="public address of short links; empty: http(s)://localhost:PORT"),
    ] = ""
    web_concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            description="processes that answer requests, on one port, and are counted as one by "
            "/metrics; of role all the first drains as well; more than one on Linux only",
        ),
    ] = 1
    tls_cert: Annotated[
        str,
        Meta(
            description="PEM file of a certificate and its chain, read again on SIGHUP: with "
            "TLS_KEY, requests are answered over TLS only; empty: without TLS"
        ),
    ] = ""
    tls_key: Annotated[str, Meta(description="PEM file of the certificate's private key")] = ""
    hsts_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="with TLS_CERT, for how long browsers are told to use nothing but https "
            "(Strict-Transport-Security), unless BASE_URL is of localhost; 0: they are not told",
        ),
    ] = 180 * 24 * 3600
    redis_url: Annotated[
        str, Meta(description="redis:// or rediss:// address; empty: built-in Redis")
    ] = ""
    redis_memory_bytes: Annotated[
        int,
        Meta(
            ge=1024**2,
            description="memory that Redis may use, where it has no maxmemory of its own: what is "
            "not the journal gets half of it, or of maxmemory",
        ),
    ] = 1024**3
    mongodb_uri: Annotated[
        str, Meta(description="mongodb:// address of a replica set; empty: built-in MongoDB")
    ] = ""
    mongodb_database: Annotated[
        str,
        Meta(
            pattern=rf"\A{addresses.DATABASE_FORM}\Z",
            description="database name in MongoDB, in place of one that MONGODB_URI names",
        ),
    ] = "tracker"
    data_dir: Annotated[
        str, Meta(min_length=1, description="folder of the built-in stores and of the click spool")
    ] = ".data"
    spool_max_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="most that DATA_DIR's spool may hold of what waits for Redis, damaged "
            "files included; beyond it clicks and conversions are answered with 503",
        ),
    ] = 1024**3
    trusted_proxies: Annotated[
        str,
        Meta(
            description="who may name the client in X-Forwarded-For: a number of hops, or "
            "networks separated by commas; empty: nobody, the client is the peer"
        ),
    ] = ""
    country_header: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9-]*\Z",
            description="header in which your edge names the visitor's country, such as "
            "CF-IPCountry: believed from everyone, so the edge has to set it always; "
            "empty: the address is looked up",
        ),
    ] = ""
    geoip_database: Annotated[
        str,
        Meta(
            description="file of countries by address in the MaxMind layout, such as "
            "GeoLite2-Country.mmdb, read again when another is renamed to its name; "
            "empty: countries are those that addresses are registered in"
        ),
    ] = ""
    rate_limit_ip_per_minute: Annotated[
        int, Meta(ge=0, description="API requests a minute for each IP address; 0: no limit")
    ] = 100
    rate_limit_account_per_hour: Annotated[
        int, Meta(ge=0, description="API requests an hour for each account; 0: no limit")
    ] = 1000
    miss_limit_ip_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            description="unknown links, hosts and postback keys that each IP address may ask for "
            "in a minute, of each process; beyond it what the address asks MongoDB for waits in a "
            "share of all such addresses; 0: no limit",
        ),
    ] = 600
    connections_per_address: Annotated[
        int,
        Meta(
            ge=0,
            description="connections that one address may have open at a process, and never more "
            "than half of all; TRUSTED_PROXIES are excepted, and in development this machine; "
            "0: no limit",
        ),
    ] = 512
    pending_limit_ip_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            description="conversions without postback key for clicks not stored (yet) that each IP "
            "address may report in a minute, to each process, each KiB of metadata counted as one "
            "more; beyond it 429; 0: no limit",
        ),
    ] = 3000
    pending_event_days: Annotated[
        int,
        Meta(
            ge=0,
            le=24_000,
            description="days after which a conversion is deleted whose click never came and which "
            "belongs to no account; 0: never",
        ),
    ] = 30
    rate_limit_ipv6_prefix: Annotated[
        int,
        Meta(
            ge=1,
            le=128,
            description="bits of an IPv6 address that tell one client from another in every limit "
            "for each address; IPv4 addresses count whole",
        ),
    ] = 64
    dns_resolver: Annotated[
        str,
        Meta(
            description="DNS server that is asked about custom domains and receivers of webhooks: "
            "an IP address, or address:port, an IPv6 address in brackets then; empty: the system's"
        ),
    ] = ""
    secret_key: Annotated[
        str,
        Meta(
            description="what webhooks' signing secrets are encrypted with in MongoDB: 32 random "
            "bytes or more in base64 (openssl rand -base64 32), the same in every process; of "
            "several, separated by commas, the first encrypts and all decrypt; empty: not encrypted"
        ),
    ] = ""
    serve_claimed_domains: Annotated[
        Literal["auto", "always", "never"],
        Meta(
            description="whether the Host header finds links of a custom domain that one account "
            "claims and nobody has proven; auto: not in production"
        ),
    ] = "auto"
    cname_host: Annotated[
        str,
        Meta(
            description="host below which each account has a hostname of its own, to which a CNAME "
            "proves a custom domain: *.CNAME_HOST has to lead here; empty: the host of BASE_URL"
        ),
    ] = ""
    reserved_hosts: Annotated[
        str,
        Meta(
            description="hostnames that no account may claim, separated by commas, such as "
            "www.example.com, or *.example.com for all below it; the host of BASE_URL is one always"
        ),
    ] = ""
    webhook_allow_private: Annotated[
        bool,
        Meta(description="whether webhooks may point into private networks and at this machine"),
    ] = False
    webhook_allow_http: Annotated[
        bool,
        Meta(
            description="whether webhooks may point at plain http:// in production, where anyone "
            "on the way can read what they are told; elsewhere they may"
        ),
    ] = False
    click_retention_days: Annotated[
        int,
        Meta(
            ge=0,
            le=24_000,
            description="days after which a stored click is deleted; reports keep what it counted, "
            "but for those that filter one of country, device, browser, os by another; 0: never",
        ),
    ] = 0
    store_ip: Annotated[
        bool, Meta(description="whether stored clicks keep the visitor's IP address")
    ] = False
    link_cache_entries: Annotated[
        int, Meta(ge=1, description="links that one process keeps in memory")
    ] = 100_000
    access_log: Annotated[
        float,
        Meta(ge=0, le=1, description="share of the requests that have a line in the log; 0: none"),
    ] = 1.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="least level that is logged")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "text"],
        Meta(description="one JSON object a line, or text; auto: text on a terminal"),
    ] = "auto"

    @property
    def builtin_redis(self) -> bool:
        return not self.redis_url

    @property
    def builtin_mongodb(self) -> bool:
        return not self.mongodb_uri

    @property
    def hsts(self) -> str:
        """The value of Strict-Transport-Security; empty: not sent.

        Browsers apply it to every port of a host: on localhost it would break whatever else is
        developed there.
        """
        is_local = urlsplit(self.base_url).hostname in ("localhost", None)
        if not self.tls_cert or is_local or not self.hsts_seconds:
            return ""
        return f"max-age={self.hsts_seconds}"

    @property
    def serves_claimed_domains(self) -> bool:
        if self.serve_claimed_domains == "auto":
            return self.env != "production"
        return self.serve_claimed_domains == "always"

    @property
    def reserved_names(self) -> list[str]:
        """`reserved_hosts`, in lower case, each with or without a leading `*.`."""
        return _names(self.reserved_hosts)

    @property
    def listen_address(self) -> str:
        return self.host or ("127.0.0.1" if self.env == "development" else "0.0.0.0")  # noqa: S104

    @property
    def http_targets_allowed(self) -> bool:
        """Whether webhooks may point at plain http://."""
        return self.webhook_allow_http or self.env != "production"

    @property
    def secret_keys(self) -> tuple[bytes, ...]:
        """The keys of `secret_key`, the one that encrypts first; empty without."""
        return secret_key.keys_of(self.secret_key)

    @property
    def dns_address(self) -> tuple[str, int] | None:
        """(IP address, port) of `dns_resolver`; None: the system's."""
        return _dns_address(self.dns_resolver)

    @property
    def data_path(self) -> Path:
        return Path(self.data_dir).resolve()


def read(environment: Mapping[str, str]) -> Settings:
    """Settings from `environment`. Raises SettingsError naming the variable and the rule."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        text = environment.get(field.encode_name, "").strip()
        if not text:
            continue
        try:
            values[field.name] = msgspec.convert(
                _without_case(text, field.type), field.type, strict=False
            )
        except msgspec.ValidationError:
            raise SettingsError(
                f"{field.encode_name}={text!r}: must be {_rule(field.type)}"
            ) from None
    if environment.get("DYNO"):
        values["env"] = "production"
    settings = Settings(**values)
    _check(settings)
    if "mongodb_database" not in values:
        settings = _with_database_of_uri(settings)
    return settings


def _without_case(text: str, annotated: Any) -> str:
    """Words of a closed list may be written in any case: LOG_LEVEL=INFO."""
    return text.lower() if get_origin(annotated.__origin__) is Literal else text


def _with_database_of_uri(settings: Settings) -> Settings:
    with _naming("MONGODB_URI"):
        name = addresses.database_of(settings.mongodb_uri)
    return msgspec.structs.replace(settings, mongodb_database=name) if name else settings


@contextmanager
def _naming(variable: str) -> Iterator[None]:
    """Raises SettingsError in place of UnusableAddress."""
    try:
        yield
    except addresses.UnusableAddress as error:
        raise SettingsError(f"{variable}: {error}") from None


def _check(settings: Settings) -> None:
    if settings.base_url:
        _check_base_url(settings.base_url)
    if settings.redis_url:
        with _naming("REDIS_URL"):
            addresses.check_redis(settings.redis_url)
    if settings.mongodb_uri:
        with _naming("MONGODB_URI"):
            addresses.check_mongodb(settings.mongodb_uri)
    _check_trusted_proxies(settings.trusted_proxies)
    _check_dns_resolver(settings.dns_resolver)
    _check_secret_key(settings.secret_key)
    _check_hostnames("CNAME_HOST", settings.cname_host, [settings.cname_host])
    plain = [name.removeprefix("*.") for name in settings.reserved_names]
    _check_hostnames("RESERVED_HOSTS", settings.reserved_hosts, plain)
    _check_geoip_database(settings.geoip_database)
    if bool(settings.tls_cert) != bool(settings.tls_key):
        missing_one = "TLS_KEY" if settings.tls_cert else "TLS_CERT"
        raise SettingsError(f"{missing_one}: must be set, for the other of the pair is")
    if settings.internal_port and settings.internal_port == settings.port:
        raise SettingsError("INTERNAL_PORT: must not be PORT")
    if settings.env == "production":
        for name, missing in (
            ("REDIS_URL", settings.builtin_redis),
            ("MONGODB_URI", settings.builtin_mongodb),
            ("BASE_URL", not settings.base_url),
        ):
            if missing:
                raise SettingsError(f"{name}: must be set when ENV=production")


def _check_base_url(text: str) -> None:
    try:
        usable = _BASE_URL.fullmatch(text) and urlsplit(text).port != 0
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
    if text and not all(map(_HOSTNAME.fullmatch, names)):
        raise SettingsError(
            f"{variable}={text!r}: must be a hostname such as www.example.com, in its ASCII form"
        )


def _names(text: str) -> list[str]:
    return [name.strip().lower().removesuffix(".") for name in text.split(",")] if text else []


def _check_dns_resolver(text: str) -> None:
    try:
        _dns_address(text)
    except ValueError:
        raise SettingsError(
            f"DNS_RESOLVER={text!r}: must be an IP address, or address:port such as 10.0.0.2:53 "
            "or [fd00::2]:53"
        ) from None


def _check_secret_key(text: str) -> None:
    """The value is not repeated in the message."""
    try:
        secret_key.keys_of(text)
    except ValueError:
        raise SettingsError(f"SECRET_KEY: {secret_key.RULE}") from None


def _check_geoip_database(path: str) -> None:
    """Opened once to be sure; whoever looks up countries opens it again."""
    try:
        if path:
            maxminddb.open_database(path).close()
    except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
        reason = getattr(error, "strerror", None) or "not in the MaxMind layout"
        raise SettingsError(
            f"GEOIP_DATABASE={path!r}: must be a file that can be opened: {reason}"
        ) from None


def _dns_address(text: str) -> tuple[str, int] | None:
    """Raises ValueError."""
    if not text:
        return None
    match = _ADDRESS_AND_PORT.fullmatch(text)
    if match is None:
        return str(ip_address(text)), 53
    port = int(match[3])
    if not 1 <= port <= 65535:
        raise ValueError("port out of range")
    return str(IPv6Address(match[1]) if match[1] else IPv4Address(match[2])), port


def describe() -> str:
    """The table that `python run.py --help` prints: name, type, default, meaning."""
    lines = []
    for field in msgspec.structs.fields(Settings):
        default = str(field.default)
        if isinstance(field.default, bool):
            default = default.lower()
        shown = f" [{default}]" if default else ""
        lines.append(f"  {field.encode_name} ({_type_name(field.type)}){shown}")
        lines.append(f"      {_meaning(field.type)}")
    return "\n".join(lines)


def _type_name(annotated: Any) -> str:
    kind = annotated.__origin__
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    return {str: "text", int: "whole number", bool: "true or false", float: "number"}[kind]


def _rule(annotated: Any) -> str:
    meta = annotated.__metadata__[0]
    if meta.pattern:
        return f"of the form {meta.pattern[2:-2]}"
    least = "" if meta.ge is None else f" from {meta.ge}"
    most = "" if meta.le is None else f" to {meta.le}"
    return f"{_type_name(annotated)}{least}{most}"


def _meaning(annotated: Any) -> str:
    return str(annotated.__metadata__[0].description)
