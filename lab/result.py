"""Results as text: tables, named figures, notes and faults. Pure."""

from collections.abc import Collection, Iterable, Sequence


def columns(rows: Sequence[Sequence[str]], words: Collection[int]) -> list[str]:
    """Return a line for each row, with aligned columns.

    `words` has the indexes of the columns with text; the others have figures.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def aligned(row: Sequence[str]) -> str:
        cells = enumerate(zip(row, widths, strict=True))
        return "  ".join(
            text.ljust(width) if index in words else text.rjust(width)
            for index, (text, width) in cells
        ).rstrip()

    return [aligned(row) for row in rows]


def figure_lines(figures: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each name and figure, in two columns."""
    rows = list(figures)
    width = max(len(name) for name, _ in rows)
    return [f"{name:{width}}{figure:>12}" for name, figure in rows]


def with_faults(lines: Iterable[str], faults: Iterable[str], notes: Iterable[str] = ()) -> str:
    """Return the text of a result."""
    return "\n".join(
        [*lines, *(f"note: {note}" for note in notes), *(f"FAULT: {fault}" for fault in faults)]
    )


def audit_figures(lost: int, differences: int) -> list[tuple[str, str]]:
    """Return the figures of what `lab.stores` found missing and different."""
    return [
        ("answered and not stored", f"{lost:,}"),
        ("figures of reports that differ", f"{differences:,}"),
    ]


def audit_faults(lost: int, differences: int) -> list[str]:
    """Return a line for each figure of the audit that is not 0."""
    lines = [f"{lost:,} answered and not stored"] * bool(lost)
    return lines + [f"{differences:,} figures of reports differ"] * bool(differences)


def exit_code(faults: Sequence[str]) -> int:
    """Return the exit code of a run: 0 without a fault, else 1."""
    return 1 if faults else 0
