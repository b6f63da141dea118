"""Whoever loses a command in mid-run is told what goes on without it."""

import errno

import pytest

from poolkeeper.cli.output.runs import what_stays
from poolkeeper.errors import Fenced, Unavailable

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("in_mid_run", [False, True])
@pytest.mark.parametrize("error", [Unavailable("away"), BrokenPipeError(), FULL])
def test_what_goes_on_is_told_where_a_system_or_the_output_is_lost(
    capsys: pytest.CaptureFixture[str], error: Exception, in_mid_run: bool
) -> None:
    with pytest.raises(type(error)), what_stays.report_after_errors(lambda: in_mid_run):
        raise error
    assert (what_stays.RUN_STAYS in " ".join(capsys.readouterr().err.split())) is in_mid_run


def test_nothing_is_told_of_what_is_another_executor_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Fenced), what_stays.report_after_errors(lambda: True):
        raise Fenced("taken over")
    assert capsys.readouterr().err == ""
