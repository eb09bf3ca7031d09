"""Every environment variable of the service: name, type, default and meaning.

`config/settings` reads them, `config/checks` has the rules that types cannot express, and
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
        Meta(description="production refuses the built-in stores; DYNO, if set, means production"),
    ] = "development"
    host: Annotated[
        str,
        Meta(description="address to listen on; empty: 127.0.0.1, in production every address"),
    ] = ""
    port: Annotated[
        int, Meta(ge=0, le=65535, description="port to listen on; 0 takes a free one")
    ] = 8080
    internal_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="separate port, without TLS, for /metrics, /internal/, /docs and "
            "/openapi.json, which PORT then does not answer; 0: PORT answers them",
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
            description="processes that answer requests on the same port; /metrics sums them; "
            "with role all the first one drains too; more than one only on Linux",
        ),
    ] = 1
    stop_delay_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=300,
            description="seconds after a signal to stop in which a process still serves, but "
            "/readyz says that it is not ready, so that balancers turn away; a second signal ends "
            "the wait",
        ),
    ] = 0
    tls_cert: Annotated[
        str,
        Meta(
            description="PEM file of a certificate and its chain, read again on SIGHUP; needs "
            "TLS_KEY, and PORT then answers over TLS only; empty: no TLS"
        ),
    ] = ""
    tls_key: Annotated[str, Meta(description="PEM file of the certificate's private key")] = ""
    hsts_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="max-age of Strict-Transport-Security, the seconds for which browsers use "
            "https only; sent with TLS_CERT unless BASE_URL is on localhost; 0: not sent",
        ),
    ] = 180 * 24 * 3600
    redis_url: Annotated[
        str,
        Meta(
            description="redis:// or rediss:// address, or redis+sentinel://host,host/name of the "
            "sentinels that know the primary, or redis+cluster://host,host; empty: built-in Redis"
        ),
    ] = ""
    redis_memory_bytes: Annotated[
        int,
        Meta(
            ge=1024**2,
            description="memory of Redis, if its own maxmemory is not set; everything but the "
            "journal may use half of it",
        ),
    ] = 1024**3
    journal_replicas: Annotated[
        int,
        Meta(
            ge=0,
            le=8,
            description="replicas of Redis that must have a click or conversion before it is "
            "answered; with too few replicas it goes to the spool",
        ),
    ] = 0
    journal_partitions: Annotated[
        int,
        Meta(
            ge=1,
            le=64,
            description="Redis streams in which clicks and conversions wait; drains share them, "
            "and each link's clicks are in one; the same for all processes",
        ),
    ] = 1
    mongodb_uri: Annotated[
        str, Meta(description="mongodb:// address of a replica set; empty: built-in MongoDB")
    ] = ""
    mongodb_database: Annotated[
        str,
        Meta(
            pattern=rf"\A{addresses.DATABASE_FORM}\Z",
            description="database name in MongoDB; overrides the one in MONGODB_URI",
        ),
    ] = "tracker"
    data_dir: Annotated[
        str, Meta(min_length=1, description="folder of the built-in stores and of the click spool")
    ] = ".data"
    spool_max_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="size limit of the spool in DATA_DIR, damaged files included; once it is "
            "full, clicks and conversions are answered with 503",
        ),
    ] = 1024**3
    trusted_proxies: Annotated[
        str,
        Meta(
            description="proxies whose X-Forwarded-For is trusted: a number of hops, or networks "
            "separated by commas; empty: none, the client is the peer"
        ),
    ] = ""
    country_header: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9-]*\Z",
            description="header with the visitor's country, such as CF-IPCountry; it is trusted "
            "from every client, so your proxy must always set it; empty: the address is looked up",
        ),
    ] = ""
    geoip_database: Annotated[
        str,
        Meta(
            description="country database in the MaxMind layout, such as GeoLite2-Country.mmdb; "
            "read again after another file was renamed to its name; empty: the country in which "
            "the address is registered"
        ),
    ] = ""
    rate_limit_ip_per_minute: Annotated[
        int, Meta(ge=0, description="API requests a minute for each IP address; 0: no limit")
    ] = 100
    rate_limit_account_per_hour: Annotated[
        int, Meta(ge=0, description="API requests an hour for each account; 0: no limit")
    ] = 1000
    rate_limit_session_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            description="requests a minute of one person in an account, with all sessions of the "
            "console; they do not count for address and account; 0: no limit",
        ),
    ] = 600
    miss_limit_ip_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            description="unknown links, hosts and postback keys that an IP address may request a "
            "minute, from each process; beyond it, all such addresses share one limit of look-ups "
            "in MongoDB; 0: no limit",
        ),
    ] = 600
    connections_per_address: Annotated[
        int,
        Meta(
            ge=0,
            description="open connections of one address to each process, at most half of all; "
            "TRUSTED_PROXIES are exempt, and in development this machine; 0: no limit",
        ),
    ] = 512
    pending_limit_ip_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            description="conversions without postback key and without a stored click that an IP "
            "address may report a minute, to each process; each KiB of metadata counts as one "
            "more; beyond it 429; 0: no limit",
        ),
    ] = 3000
    pending_event_days: Annotated[
        int,
        Meta(
            ge=0,
            le=24_000,
            description="days after which a conversion without click and account is deleted; 0: "
            "never",
        ),
    ] = 30
    rate_limit_ipv6_prefix: Annotated[
        int,
        Meta(
            ge=1,
            le=128,
            description="leading bits of an IPv6 address that identify a client in every limit by "
            "address; IPv4 addresses count whole",
        ),
    ] = 64
    dns_resolver: Annotated[
        str,
        Meta(
            description="DNS server for custom domains and webhook receivers: an IP address, or "
            "address:port with an IPv6 address in brackets; empty: the system's"
        ),
    ] = ""
    secret_key: Annotated[
        str,
        Meta(
            description="key that encrypts the secrets of webhooks and second factors in MongoDB: "
            "32 random bytes or more in base64 (openssl rand -base64 32), the same in every "
            "process; several are separated by commas, the first encrypts and all decrypt; empty: "
            "not encrypted"
        ),
    ] = ""
    allow_insecure: Annotated[
        bool, Meta(description="start in production without https:// or SECRET_KEY")
    ] = False
    serve_claimed_domains: Annotated[
        Literal["auto", "always", "never"],
        Meta(
            description="whether to serve a custom domain that a single account claims before it "
            "is proven; auto: not in production"
        ),
    ] = "auto"
    cname_host: Annotated[
        str,
        Meta(
            description="parent of the hostnames to which a CNAME proves a custom domain, one for "
            "each account; *.CNAME_HOST must lead here; empty: the host of BASE_URL"
        ),
    ] = ""
    reserved_hosts: Annotated[
        str,
        Meta(
            description="hostnames that no account may claim, separated by commas: "
            "www.example.com, or *.example.com for all below it; the host of BASE_URL is always "
            "reserved"
        ),
    ] = ""
    webhook_allow_private: Annotated[
        bool,
        Meta(description="whether webhooks may target private networks and this machine"),
    ] = False
    webhook_allow_http: Annotated[
        bool,
        Meta(
            description="whether webhooks may target plain http:// in production, where others on "
            "the network can read the payloads; always allowed in development"
        ),
    ] = False
    click_retention_days: Annotated[
        int,
        Meta(
            ge=0,
            le=24_000,
            description="days after which a stored click is deleted; it still counts in reports, "
            "except in those that read stored clicks; 0: never",
        ),
    ] = 0
    store_ip: Annotated[
        bool, Meta(description="whether stored clicks keep the visitor's IP address")
    ] = False
    link_cache_entries: Annotated[
        int, Meta(ge=1, description="links that each process keeps in memory")
    ] = 100_000
    access_log: Annotated[
        float,
        Meta(ge=0, le=1, description="share of requests that are logged, from 0 to 1; 0: none"),
    ] = 1.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="lowest level that is logged"),
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "text"],
        Meta(description="json: one object a line; auto: text on a terminal, else json"),
    ] = "auto"
