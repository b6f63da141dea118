"""The published measurements, and what follows from them for other clusters."""

import pytest

from poolkeeper.model.versions import Version, version_of
from poolkeeper.studies.controller_times import ControllerEra, controller_times, eras_of

OLD, NEW = ControllerEra.ONE_BY_ONE, ControllerEra.PIPELINED


@pytest.mark.parametrize(
    ("version", "eras"),
    [
        *(("0.10.2", (OLD,)), ("1.0", (OLD,)), ("1.1", (NEW,)), ("1.1.1", (NEW,))),
        *(("3.9", (NEW,)), ("0.10.1 to 3.9", (OLD, NEW)), (None, (OLD, NEW))),
    ],
)
def test_which_controllers_a_release_has(
    version: str | None, eras: tuple[ControllerEra, ...]
) -> None:
    assert eras_of(version_of(version)) == eras


@pytest.mark.parametrize(("version", "begin_s", "stop_s"), [("1.0", 28, 390), ("1.1", 14, 3)])
def test_the_measurements_themselves(version: str, begin_s: float, stop_s: float) -> None:
    known: Version | None = version_of(version)
    (times,) = controller_times(known, 100_000, 10_000, 6.0, controller_lost=True)
    assert (times.begin_s, times.stop_s) == (begin_s, stop_s)
    assert times.pause_s == pytest.approx(6.0 + stop_s + begin_s)


def test_a_follower_of_the_controller_waits_for_no_other_controller() -> None:
    (times,) = controller_times(version_of("3.9"), 200_000, 4_000, 18.0, controller_lost=False)
    assert (times.begin_s, times.stop_s) == pytest.approx((28.0, 1.2))
    assert times.pause_s == pytest.approx(19.2)
