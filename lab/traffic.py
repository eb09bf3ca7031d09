"""What visitors look like, for benchmarks: user agents of people and bots, and countries."""

from typing import Final

_MOZILLA: Final = "Mozilla/5.0"
_WEBKIT: Final = "AppleWebKit/537.36 (KHTML, like Gecko)"
_APPLE: Final = "AppleWebKit/605.1.15 (KHTML, like Gecko)"

AGENTS: Final = (
    f"{_MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) {_APPLE} Version/18.1 Mobile/15E148 "
    "Safari/604.1",
    f"{_MOZILLA} (Linux; Android 15; Pixel 9) {_WEBKIT} Chrome/131.0.0.0 Mobile Safari/537.36",
    f"{_MOZILLA} (Windows NT 10.0; Win64; x64) {_WEBKIT} Chrome/131.0.0.0 Safari/537.36",
    f"{_MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) {_APPLE} Version/18.1 Safari/605.1.15",
    f"{_MOZILLA} (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
    f"{_MOZILLA} (Windows NT 10.0; Win64; x64) {_WEBKIT} Chrome/131.0.0.0 Safari/537.36 "
    "Edg/131.0.0.0",
    f"{_MOZILLA} (iPad; CPU OS 17_7 like Mac OS X) {_APPLE} Version/17.7 Mobile/15E148 "
    "Safari/604.1",
    f"{_MOZILLA} (Linux; Android 14; SM-S918B) {_WEBKIT} SamsungBrowser/26.0 Chrome/122.0.0.0 "
    "Mobile Safari/537.36",
    f"{_MOZILLA} (X11; Linux x86_64) {_WEBKIT} Chrome/130.0.0.0 Safari/537.36",
    f"{_MOZILLA} (Linux; Android 13; SM-X200) {_WEBKIT} Chrome/129.0.0.0 Safari/537.36",
    f"{_MOZILLA} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "curl/8.11.0",
)

COUNTRIES: Final = (
    *("US", "GB", "DE", "FR", "IN", "BR", "CA", "AU", "NL", "ES", "IT", "MX", "PL", "SE", "JP"),
    *("KR", "ID", "TR", "PH", "VN", "TH", "ZA", "NG", "EG", "AR", "CO", "CL", "PE", "PT", "BE"),
    *("AT", "CH", "DK", "NO", "FI", "IE", "CZ", "RO", "GR", "HU"),
)
