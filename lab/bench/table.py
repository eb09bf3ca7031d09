"""The table for people. Pure."""

from collections.abc import Iterator, Sequence

from lab.bench.figures import Figures, Target


def table(found: Sequence[Figures], wanted: Sequence[Target]) -> str:
    return "\n".join([*_rows(found), "", *_arrivals(found), *_others(found), *_targets(wanted)])


def _rows(found: Sequence[Figures]) -> Iterator[str]:
    width = max(len(one.name) for one in found)
    columns = f"{'requests/s':>11}{'p50 ms':>9}{'p99 ms':>9}{'CPU s/1,000':>13}{'x a':>7}"
    yield f"{'':4}{'':{width}}{columns}  CPU of"
    for one in found:
        ratio = "-" if one.ratio is None else f"{one.ratio:.2f}"
        yield (
            f"{one.key:4}{one.name:{width}}{one.rate:11,.0f}{one.p50 * 1000:9.2f}"
            f"{one.p99 * 1000:9.2f}{one.cpu[one.process]:13.3f}{ratio:>7}  {one.process}"
        )


def _arrivals(found: Sequence[Figures]) -> Iterator[str]:
    for one in found:
        if one.arrival is not None:
            yield (
                f"{one.key:4}landed in MongoDB {one.arrival.rate:,.0f}/s during the load; two "
                f"seconds after it {one.arrival.share:.3f} of the accepted, "
                f"backlog {one.arrival.backlog:,.0f}"
            )


def _others(found: Sequence[Figures]) -> Iterator[str]:
    for one in found:
        for process in list(one.cpu)[1:]:
            yield f"{one.key:4}CPU of {process}: {one.cpu[process]:.3f} s/1,000"
        if one.half_p99 is not None:
            yield f"{one.key:4}p99 at half its rate: {one.half_p99 * 1000:.2f} ms"


def _targets(wanted: Sequence[Target]) -> Iterator[str]:
    yield ""
    words = {True: "reached", False: "NOT REACHED", None: "not measured"}
    width = max(len(target.text) for target in wanted)
    for target in wanted:
        figure = "-" if target.figure is None else f"{target.figure:.2f}"
        yield f"{target.text:{width}}{figure:>9}  {words[target.is_reached]}"
