"""Results as text: tables, named figures, notes and faults. Pure."""

from collections.abc import Collection, Iterable, Sequence

import msgspec


class LoadAudit(msgspec.Struct, kw_only=True):
    """Answered ids that are not stored, figures that differ, and processes that ended."""

    requests: int
    lost: int
    differences: int
    ended: list[str]

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("requests answered", f"{self.requests:,}"),
            ("answered and not stored", f"{self.lost:,}"),
            ("figures of reports that differ", f"{self.differences:,}"),
        ]

    def faults(self) -> list[str]:
        lines = [f"{self.lost:,} answered and not stored"] * bool(self.lost)
        lines += [f"{self.differences:,} figures of reports differ"] * bool(self.differences)
        return lines + self.ended


def columns(rows: Sequence[Sequence[str]], text_columns: Collection[int]) -> list[str]:
    """Return a line for each row, with aligned columns: `text_columns` to the left, figures not."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def aligned(row: Sequence[str]) -> str:
        cells = enumerate(zip(row, widths, strict=True))
        return "  ".join(
            text.ljust(width) if index in text_columns else text.rjust(width)
            for index, (text, width) in cells
        ).rstrip()

    return [aligned(row) for row in rows]


def figure_lines(figures: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(figures)
    width = max(len(name) for name, _ in rows)
    return [f"{name:{width}}{figure:>12}" for name, figure in rows]


def with_faults(lines: Iterable[str], faults: Iterable[str], notes: Iterable[str] = ()) -> str:
    return "\n".join(
        [*lines, *(f"note: {note}" for note in notes), *(f"FAULT: {fault}" for fault in faults)]
    )


def exit_code(faults: Sequence[str]) -> int:
    return 1 if faults else 0
