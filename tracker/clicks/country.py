"""The country of a click: from the trusted edge, else the operator's file, else the registries.

Called for every click when its document is made, and for a redirect whose destination asks for it.
Every value is an upper-case ISO 3166-1 alpha-2 code or `unknown`. The registries' data is inside
package iptocc. No look-up uses the network.
"""

from ipaddress import IPv6Address
from typing import Final

from iptocc import country_code

from tracker.clicks.country_file import CountryFile
from tracker.visitor_dimensions import UNKNOWN

# Edges and registries also send XX, ZZ, T1, A1, A2, EU and AP, which name no country.
# ISO leaves XK to its users; to all of them it means Kosovo.
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


class Countries:
    """The look-up of a click's country. `geoip_database` is a file's path, or empty for none."""

    def __init__(self, geoip_database: str = "") -> None:
        self._file = CountryFile(geoip_database) if geoip_database else None

    def look_up(self, address: str, edge: str) -> str:
        """Return the country of a visitor at IP address `address`. Never raises.

        `edge` is the value of the trusted edge's country header, empty if there is none. It wins if
        it names a country.
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
    """Return the IPv4 address in ::ffff:a.b.c.d, because the registries list only that."""
    if "ffff" not in address.lower():
        return address
    return str(IPv6Address(address).ipv4_mapped or address)
