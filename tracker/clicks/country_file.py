"""An operator's file of countries by address, in the MaxMind layout (GEOIP_DATABASE).

Read by `clicks/country`. Replace the file by renaming another to its name; the change is noticed
within CHECK_SECONDS. The file is mapped into memory, so writing into it crashes the process.
"""

import time
from pathlib import Path
from typing import Any

import maxminddb
import structlog
from maxminddb import InvalidDatabaseError

log = structlog.get_logger(__name__)

CHECK_SECONDS = 3.0
"""Time between two checks whether the file was replaced."""

Version = tuple[int, int, int, int]


class CountryFile:
    """The operator's file, opened at the first look-up.

    A file that cannot be read is logged, and the last readable one stays in use.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._reader: maxminddb.Reader | None = None
        self._version: Version | None = (0, 0, 0, 0)
        self._check_at = 0.0

    def code(self, address: str) -> str | None:
        now = time.monotonic()
        if now >= self._check_at:
            self._check_at = now + CHECK_SECONDS
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

    def _version_on_disk(self) -> Version | None:
        try:
            file = Path(self._path).stat()
        except OSError:
            return None
        return file.st_dev, file.st_ino, file.st_size, file.st_ctime_ns


def _code(record: Any) -> str | None:
    """Return the country code of a record.

    MaxMind and most others have `country.iso_code`, some have `country_code` alone.
    """
    if not isinstance(record, dict):
        return None
    country = record.get("country")
    code = country.get("iso_code") if isinstance(country, dict) else record.get("country_code")
    return code if isinstance(code, str) else None
