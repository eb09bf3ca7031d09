"""Every environment variable of the service, once: name, type, default and meaning.

`config/settings` reads them, `config/checks` holds the rules that no type expresses, and
`config/description` prints this table.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config import addresses


class Variables(msgspec.Struct, frozen=True, kw_only=True, rename=str.upper):
    """The values of all variables. A field `base_url` is the variable `BASE_URL`."""

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
