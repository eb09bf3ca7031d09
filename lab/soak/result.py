"""What came of it, for people. Pure."""

from typing import Final

import msgspec

MEGABYTE: Final = 1024 * 1024
MOST_GROWTH: Final = 20 * MEGABYTE


class Result(msgspec.Struct, kw_only=True):
    """What came of it. `growth` is that of the web process in bytes, None if there were not enough
    clicks to tell; `differences` are figures of the reports that are not what is stored."""

    requests: int
    clicks: int
    events: int
    errors: dict[str, int]
    lost: int
    unknown: int
    differences: int
    ended: list[str]
    growth: int | None

    def faults(self) -> list[str]:
        """A line each; empty if all is well."""
        lines = [f"{count:,} {what}" for what, count in self.errors.items()]
        lines += [f"{self.lost:,} answered and not stored"] * bool(self.lost)
        lines += [f"{self.unknown:,} stored and not answered"] * bool(self.unknown)
        lines += [f"{self.differences:,} figures of reports differ"] * bool(self.differences)
        lines += self.ended
        if self.growth is not None and self.growth > MOST_GROWTH:
            lines.append(f"the web process grew by {self.growth / MEGABYTE:.1f} MB")
        return lines

    def table(self) -> str:
        growth = "-" if self.growth is None else f"{self.growth / MEGABYTE:.1f} MB"
        rows = {
            "requests answered": f"{self.requests:,}",
            "  clicks": f"{self.clicks:,}",
            "  events": f"{self.events:,}",
            "errors": f"{sum(self.errors.values()):,}",
            "answered and not stored": f"{self.lost:,}",
            "stored and not answered": f"{self.unknown:,}",
            "figures of reports that differ": f"{self.differences:,}",
            "growth of the web process": growth,
        }
        width = max(map(len, rows))
        faults = [f"FAULT: {fault}" for fault in self.faults()]
        return "\n".join([*(f"{name:{width}}{text:>12}" for name, text in rows.items()), *faults])
