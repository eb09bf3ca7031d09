"""The progress of a run of reports."""

from tracker.reports.joint_counts.report_run import ReportProgress


def test_two_days_of_two_years_are_progress_in_a_request_of_many_parts() -> None:
    """Whoever goes on by itself gives up if there was none."""
    progress = ReportProgress()
    progress.expect(24)
    told = set()
    for days in range(0, 732, 2):
        progress.set_fraction(days / 731)
        told.add(progress.text)
    assert len(told) == 366


def test_a_request_that_is_almost_done_is_not_done() -> None:
    progress = ReportProgress()
    progress.finish_part()
    assert progress.text == "0.9999"
    progress.set_fraction(0.5)
    assert progress.fraction < 1
