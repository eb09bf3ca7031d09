"""Every variable is checked, and a process with a wrong one names it in one line."""

import base64
import hashlib
import re
import socket
from pathlib import Path

import msgspec
import pytest

from config.settings import Settings, SettingsError, describe, read
from tests.system.service import ended

ROOT = Path(__file__).parent.parent.parent
PRODUCTION = {
    "ENV": "production",
    "BASE_URL": "https://go.example",
    "REDIS_URL": "redis://redis:6379/0",
    "MONGODB_URI": "mongodb://a:27017,b:27017/?replicaSet=rs0",
    "SECRET_KEY": base64.b64encode(bytes(range(32))).decode(),
}
READERS = ("config", "tracker", "scripts")
VARIABLES = [field.encode_name for field in msgspec.structs.fields(Settings)]


def test_an_empty_environment_gives_the_settings_of_a_trial() -> None:
    settings = read({})
    assert settings == Settings()
    assert settings.builtin_redis
    assert settings.builtin_mongodb
    assert settings.listen_address == "127.0.0.1"


def test_blank_values_count_as_not_set_and_surrounding_spaces_are_ignored() -> None:
    assert read({"PORT": " ", "HOST": "", "LOG_LEVEL": "\t"}) == Settings()
    assert read({"PORT": " 9000 "}).port == 9000


def test_the_internal_port_must_differ_from_the_public_one() -> None:
    with pytest.raises(SettingsError, match=r"^INTERNAL_PORT: must not be PORT$"):
        read({"PORT": "9000", "INTERNAL_PORT": "9000"})
    assert read({"PORT": "0", "INTERNAL_PORT": "0"}).internal_port == 0


def test_other_variables_are_ignored() -> None:
    assert read({"PATH": "/bin", "base_url": "nonsense", "PORT_": "x"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ENV", "staging"),
        ("RESERVED_HOSTS", "www.example,"),
        ("RESERVED_HOSTS", "www.*.example"),
        ("CNAME_HOST", "*.example"),
        ("CNAME_HOST", "a.example,b.example"),
        ("SERVE_CLAIMED_DOMAINS", "true"),
        ("PORT", "abc"),
        ("PORT", "65536"),
        ("PORT", "80.5"),
        ("BASE_URL", "go.example"),
        ("BASE_URL", "ftp://go.example"),
        ("BASE_URL", "https://go.example/path"),
        ("BASE_URL", "https://go.example?"),
        ("BASE_URL", "https://go.example:0"),
        ("BASE_URL", "https://go.example:99999"),
        ("BASE_URL", "https://user:password@go.example"),
        ("BASE_URL", "https://go example"),
        ("BASE_URL", "https://b\u00fccher.example"),
        ("BASE_URL", "https://[::1"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "redis://localhost:port"),
        ("REDIS_URL", "redis://[::1"),
        ("REDIS_URL", "redis://localhost/0/1"),
        ("MONGODB_URI", "localhost:27017"),
        ("MONGODB_URI", "mongodb://"),
        ("MONGODB_URI", "mongodb://localhost:99999"),
        ("MONGODB_URI", "mongodb+srv://[x"),
        ("MONGODB_DATABASE", "a.b"),
        ("MONGODB_DATABASE", "a" * 39),
        ("TRUSTED_PROXIES", "100"),
        ("TRUSTED_PROXIES", "9" * 5000),
        ("TRUSTED_PROXIES", "all"),
        ("TRUSTED_PROXIES", "10.0.0.1/8"),
        ("TRUSTED_PROXIES", "10.0.0.0/8,"),
        ("TRUSTED_PROXIES", "10.0.0.0/8 192.168.0.0/16"),
        ("COUNTRY_HEADER", "CF IPCountry"),
        ("COUNTRY_HEADER", "CF-IPCountry:"),
        ("GEOIP_DATABASE", "/"),
        ("GEOIP_DATABASE", "a\0b"),
        ("MISS_LIMIT_IP_PER_MINUTE", "-1"),
        ("PENDING_LIMIT_IP_PER_MINUTE", "-1"),
        ("PENDING_EVENT_DAYS", "24001"),
        ("RATE_LIMIT_IPV6_PREFIX", "129"),
        ("SPOOL_MAX_BYTES", "0"),
        ("SPOOL_MAX_BYTES", "1G"),
        ("LINK_CACHE_ENTRIES", "0"),
        ("WEB_CONCURRENCY", "257"),
        ("WEB_CONCURRENCY", "auto"),
        ("ACCESS_LOG", "-0.1"),
        ("ACCESS_LOG", "1.1"),
        ("ACCESS_LOG", "nan"),
        ("LOG_LEVEL", "verbose"),
        ("LOG_FORMAT", "xml"),
        ("WEBHOOK_ALLOW_PRIVATE", "yes"),
    ],
    ids=lambda value: value[:40],
)
def test_an_invalid_value_is_refused_in_one_line_that_names_the_variable(
    name: str, value: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        read({name: value})
    message = str(refused.value)
    assert message.startswith((f"{name}=", f"{name}: "))
    assert "must " in message or "is not " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("BASE_URL", "https://go.example/"),
        ("BASE_URL", "HTTP://localhost:8080"),
        ("BASE_URL", "http://[::1]:8080"),
        ("BASE_URL", "http://127.0.0.1"),
        ("BASE_URL", "https://xn--bcher-kva.example"),
        ("REDIS_URL", "rediss://:p%40ss@redis.example:6380/1?socket_keepalive=yes"),
        ("REDIS_URL", "redis://redis.example"),
        ("REDIS_URL", "redis://redis.example/"),
        ("REDIS_URL", "redis://redis.example/2/"),
        ("REDIS_URL", "unix:///run/redis.sock"),
        ("MONGODB_URI", "mongodb+srv://u:p@cluster.example/tracker"),
        ("MONGODB_URI", "mongodb://u:p%40ss@a,b:27018/?replicaSet=rs0&tls=true"),
        ("TRUSTED_PROXIES", "0"),
        ("TRUSTED_PROXIES", "10.0.0.0/8, ::1, 192.0.2.7"),
        ("COUNTRY_HEADER", "CF-IPCountry"),
    ],
)
def test_a_valid_value_is_kept_unchanged(name: str, value: str) -> None:
    settings = msgspec.structs.asdict(read({name: value}))
    assert str(settings[name.lower()]) == value


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        (
            "REDIS_URL",
            "redis://:geheim@a/0?ssl_cert_reqs=none",
            "must not have the option 'ssl_cert_reqs': begin it with rediss://",
        ),
        ("REDIS_URL", "redis://:geheim@a/0?no=1", "must not have the option 'no': leave it out"),
        (
            "REDIS_URL",
            "redis://:geheim@a/tracker",
            "must end with the number of a database, such as /0",
        ),
        (
            "MONGODB_URI",
            "mongodb://u:ge@heim@a/",
            "is not a valid address; in credentials special characters are percent-encoded, "
            "as %40 for @",
        ),
        (
            "REDIS_URL",
            "rediss://:geheim@a/0?ssl_cert_reqs=never",
            "ssl_cert_reqs must be none, optional or required",
        ),
        (
            "REDIS_URL",
            "rediss://:geheim@a/0?ssl_ca_certs=/nowhere",
            "must name files that can be opened: /nowhere: No such file or directory",
        ),
        (
            "MONGODB_URI",
            "mongodb://u:geheim@a/?tls=true&tlsCAFile=/nowhere",
            "must name files that can be opened: /nowhere: No such file or directory",
        ),
        (
            "MONGODB_URI",
            "mongodb+srv://u:geheim@db.example.com:27017/",
            "must not have a port with mongodb+srv://: leave it out, or begin with mongodb://",
        ),
        (
            "MONGODB_URI",
            "mongodb+srv://u:geheim@a.example.com,b.example.com/",
            "must name one host with mongodb+srv://",
        ),
        (
            "MONGODB_URI",
            "mongodb://u:geheim@a/shop.links",
            "must name a database of the form [A-Za-z0-9_-]{1,38}, unless MONGODB_DATABASE is set",
        ),
    ],
)
def test_an_address_that_its_client_rejects_is_reported_without_the_password(
    name: str, value: str, line: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        read({name: value})
    assert str(refused.value) == f"{name}: {line}"


@pytest.mark.parametrize(
    ("uri", "variable", "database"),
    [
        ("mongodb://a:1,b:2/shop?replicaSet=rs0", "", "shop"),
        ("mongodb+srv://u:p@db.example.com/shop", "", "shop"),
        ("mongodb://a/shop", "other", "other"),
        ("mongodb://a/not.this", "other", "other"),
        ("mongodb://u:p@a/admin", "", "tracker"),
        ("mongodb://a/?replicaSet=rs0", "", "tracker"),
        ("mongodb://a", "", "tracker"),
        ("", "", "tracker"),
    ],
)
def test_a_database_in_the_uri_is_used_unless_another_is_set(
    uri: str, variable: str, database: str
) -> None:
    settings = read({"MONGODB_URI": uri, "MONGODB_DATABASE": variable})
    assert settings.mongodb_database == database


@pytest.mark.parametrize("text", ["INFO", "Info", "info"])
def test_choices_may_be_written_in_any_case(text: str) -> None:
    settings = read({"LOG_LEVEL": text, "LOG_FORMAT": "JSON", "ENV": "Development"})
    assert (settings.log_level, settings.log_format, settings.env) == (
        "info",
        "json",
        "development",
    )


@pytest.mark.parametrize("name", ["REDIS_URL", "MONGODB_URI", "BASE_URL"])
def test_production_needs_stores_and_an_address(name: str) -> None:
    environment = {key: value for key, value in PRODUCTION.items() if key != name}
    with pytest.raises(SettingsError, match=f"{name}: must be set when ENV=production"):
        read(environment)


@pytest.mark.parametrize(
    ("variables", "rule"),
    [
        ({"BASE_URL": "http://go.example"}, "BASE_URL: must begin with https:// when"),
        ({"SECRET_KEY": ""}, "SECRET_KEY: must be set "),
    ],
)
def test_production_is_encrypted_unless_a_switch_says_otherwise(
    variables: dict[str, str], rule: str
) -> None:
    with pytest.raises(SettingsError, match=rule):
        read({**PRODUCTION, **variables})
    assert read({**PRODUCTION, **variables, "ALLOW_INSECURE": "true"}).allow_insecure


def test_production_listens_on_every_address_unless_one_is_set() -> None:
    assert read(PRODUCTION).listen_address == "0.0.0.0"
    assert read({**PRODUCTION, "HOST": "127.0.0.1"}).listen_address == "127.0.0.1"


@pytest.mark.parametrize(("given", "missing"), [("TLS_CERT", "TLS_KEY"), ("TLS_KEY", "TLS_CERT")])
def test_a_certificate_and_its_key_are_a_pair(given: str, missing: str) -> None:
    with pytest.raises(SettingsError, match=f"{missing}: must be set when {given} is set"):
        read({given: "/etc/tracker.pem"})
    assert read({given: "/etc/one.pem", missing: "/etc/other.pem"}).tls_cert


@pytest.mark.parametrize("env", ["", "development", "production"])
def test_a_dyno_is_always_production(env: str) -> None:
    with pytest.raises(SettingsError, match="REDIS_URL: must be set when ENV=production"):
        read({"DYNO": "web.1", "ENV": env})
    assert read({**PRODUCTION, "DYNO": "web.1", "ENV": env}).env == "production"


def test_the_description_has_type_default_and_meaning_of_every_variable() -> None:
    lines = describe().splitlines()
    assert [line.split()[0] for line in lines[::2]] == VARIABLES
    assert all(line.startswith("      ") and len(line) > 20 for line in lines[1::2])
    assert "  PORT (whole number) [8080]" in lines
    assert "  WEBHOOK_ALLOW_PRIVATE (true or false) [false]" in lines
    assert "  LOG_LEVEL (debug or info or warning or error) [info]" in lines


def test_every_variable_is_read() -> None:
    files = [ROOT / "run.py", *(one for name in READERS for one in (ROOT / name).rglob("*.py"))]
    code = "".join(one.read_text(encoding="utf-8") for one in files)
    assert {one for one in VARIABLES if not re.search(rf"\.{one.lower()}\b", code)} == set()


def test_help_lists_every_variable_with_an_example() -> None:
    shown = ended({}, "run.py", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(f"\n  {name} (" in shown.stdout for name in VARIABLES)
    assert "example: PORT=9000 python run.py" in shown.stdout


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("True", True), ("1", True), ("false", False), ("FALSE", False), ("0", False)],
)
def test_booleans_may_be_written_as_numbers_and_in_any_case(text: str, value: bool) -> None:
    assert read({"WEBHOOK_ALLOW_PRIVATE": text}).webhook_allow_private is value


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("nowhere.mmdb", "must be a file that can be opened: No such file or directory"),
        (__file__, "must be a file that can be opened: not in the MaxMind layout"),
    ],
)
def test_a_database_of_countries_must_be_one(file: str, reason: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read({"GEOIP_DATABASE": file})
    assert str(refused.value) == f"GEOIP_DATABASE='{file}': {reason}"


def test_a_process_with_a_wrong_setting_or_argument_exits_2_with_one_line() -> None:
    refused = ended({"PORT": "abc"})
    line = "run.py: PORT='abc': must be a whole number from 0 to 65535\n"
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", line)
    assert ended({}, "run.py", "--port", "9000").returncode == 2


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({}, "max-age=15552000"),
        ({"HSTS_SECONDS": "60"}, "max-age=60"),
        ({"HSTS_SECONDS": "0"}, ""),
        ({"BASE_URL": ""}, ""),  # other services may run on localhost
        ({"TLS_CERT": "", "TLS_KEY": ""}, ""),
    ],
)
def test_strict_transport_security_is_asked_for_with_tls_at_a_name(
    variables: dict[str, str], sent: str
) -> None:
    secure = {"BASE_URL": "https://go.example", "TLS_CERT": "a.pem", "TLS_KEY": "b.pem"}
    assert read(secure | variables).hsts == sent


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b"])
def test_a_process_with_an_impossible_host_exits_1_with_one_line(tmp_path: Path, host: str) -> None:
    refused = ended({"HOST": host, "PORT": "0", "DATA_DIR": str(tmp_path / "data")})
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"run.py: cannot listen on {host}, port 0: ")
    assert refused.stderr.endswith(" Set HOST or PORT.\n")
    assert refused.stderr.count("\n") == 1


def test_a_process_whose_port_is_taken_exits_1_with_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = ended({"PORT": str(port), "DATA_DIR": str(tmp_path / "data")})
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"run.py: cannot listen on 127.0.0.1, port {port}: Address already in use. "
        "Set HOST or PORT.\n"
    )
    assert not (tmp_path / "data").exists()


RANDOM = base64.b64encode(bytes(range(7, 39))).decode()


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (RANDOM, [32]),
        (RANDOM.rstrip("="), [32]),
        (base64.urlsafe_b64encode(bytes(range(200, 255))).decode(), [55]),
        (f"{RANDOM}, {RANDOM}", [32, 32]),
        (hashlib.sha256(b"hexadecimal digits are of the alphabet, too").hexdigest(), [48]),
    ],
)
def test_secret_keys_are_read_as_base64(text: str, sizes: list[int]) -> None:
    assert list(map(len, read({"SECRET_KEY": text}).secret_keys)) == sizes
    assert read({}).secret_keys == ()


@pytest.mark.parametrize(
    "text",
    ["secret", "change-me", RANDOM[:40], "A" * 44, f"{RANDOM},", f"{RANDOM},short", RANDOM + "!"],
)
def test_a_malformed_secret_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError, match="SECRET_KEY: must be 32 random bytes or more") as error:
        read({"SECRET_KEY": text})
    assert text not in str(error.value)


def test_reserved_hosts_are_separated_by_commas_in_any_case() -> None:
    settings = read({"RESERVED_HOSTS": "WWW.example. , *.Inner.example"})
    assert settings.reserved_names == ["www.example", "*.inner.example"]
    assert read({}).reserved_names == []


@pytest.mark.parametrize(
    ("env", "given", "serves"),
    [
        ({}, "auto", True),
        ({}, "never", False),
        (PRODUCTION, "auto", False),
        (PRODUCTION, "always", True),
    ],
)
def test_claimed_domains_are_served_in_a_trial_or_if_the_setting_says_always(
    env: dict[str, str], given: str, serves: bool
) -> None:
    assert read({**env, "SERVE_CLAIMED_DOMAINS": given}).serves_claimed_domains is serves
