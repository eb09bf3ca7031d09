"""The country of a click: from the trusted edge, else the operator's file, else the registries.

Every click has one: an upper-case ISO 3166-1 alpha-2 code or `unknown`. No look-up uses the
network: the registries' data is inside package iptocc.

The operator's file (GEOIP_DATABASE) has the MaxMind format. Replace it only by renaming another
file to its name. It is mapped into memory, so writing into it crashes the process.
"""

import time
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any, Final

import maxminddb
import structlog
from iptocc import country_code
from maxminddb import InvalidDatabaseError

from tracker.visitor_dimensions import UNKNOWN

# Edges and registries also send XX, ZZ, T1, A1, A2, EU and AP, which name no country.
# XK is a user-assigned code of ISO, which everybody uses for Kosovo.
_CODES: Final = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS
    BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE
    EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM
    HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC
    LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
    NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
    SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
    TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
"""
COUNTRIES: Final = frozenset(_CODES.split())

log = structlog.get_logger(__name__)

CHECK_SECONDS = 3.0
"""Seconds between checks for a replaced file."""

FileVersion = tuple[int, int, int, int]


class Countries:
    """The look-up of a click's country. `geoip_database` is the path of the operator's file."""

    def __init__(self, geoip_database: str = "") -> None:
        self._file = CountryFile(geoip_database) if geoip_database else None

    def look_up(self, address: str, edge: str) -> str:
        """Return the country of an IP address. Never raises.

        `edge` is the trusted edge's country header. It wins if it names a country.
        """
        code = edge.strip().upper()
        if code in COUNTRIES and edge.isascii():
            return code
        try:
            return self._of_address(_unmapped(address))
        except ValueError:  # not an IP address, or text that cannot be encoded
            return UNKNOWN

    def _of_address(self, address: str) -> str:
        if self._file is not None and (code := self._file.code(address)) in COUNTRIES:
            return code
        registered = country_code(address)
        return registered if registered in COUNTRIES else UNKNOWN


def _unmapped(address: str) -> str:
    """Return the IPv4 address in ::ffff:a.b.c.d: registries list no IPv4-mapped addresses."""
    if "ffff" not in address.lower():
        return address
    return str(IPv6Address(address).ipv4_mapped or address)


class CountryFile:
    """The operator's file. If a new file cannot be opened, the previous one stays in use."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._reader: maxminddb.Reader | None = None
        self._version: FileVersion | None = (0, 0, 0, 0)
        self._next_check_at = 0.0

    def code(self, address: str) -> str | None:
        now = time.monotonic()
        if now >= self._next_check_at:
            self._next_check_at = now + CHECK_SECONDS
            self._reload()
        if self._reader is None:
            return None
        try:
            return _code(self._reader.get(address))
        except InvalidDatabaseError as error:
            log.error("country file damaged", file=self._path, error=str(error))
            self._reader = None
        except (ValueError, TypeError):  # not an address, or IPv6 in a file of IPv4
            pass
        return None

    def _reload(self) -> None:
        version = self._version_on_disk()
        if version == self._version:
            return
        self._version = version
        try:
            self._reader = maxminddb.open_database(self._path)
        except (OSError, InvalidDatabaseError) as error:
            log.error("country file unreadable", file=self._path, error=str(error))
        else:
            log.info("country file read", file=self._path)

    def _version_on_disk(self) -> FileVersion | None:
        try:
            file = Path(self._path).stat()
        except OSError:
            return None
        return file.st_dev, file.st_ino, file.st_size, file.st_ctime_ns


def _code(found: Any) -> str | None:
    """Return `country.iso_code`, as in files of MaxMind and most makers, or `country_code`."""
    if not isinstance(found, dict):
        return None
    country = found.get("country")
    code = country.get("iso_code") if isinstance(country, dict) else found.get("country_code")
    return code if isinstance(code, str) else None
