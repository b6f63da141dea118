import io
import json

import pytest
from rich.console import Console

from builders import plan
from poolkeeper.cli.output.runs import progress
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import ProblemReason, Recorded
from poolkeeper.planning.facts.new_partitions import AwaitsMoves

MIB = 1024**2
REQUESTED = Action(ActionKind.STAGE_REQUESTED, stage=2, count=12)


def gates(*texts):
    return tuple(Wait(WaitReason.UNAVAILABLE, detail=text) for text in texts)


def in_flight(arrived):
    return Wait(WaitReason.STAGE_IN_FLIGHT, stage=2, count=arrived, of=12)


def under_way(done=12, flying=10, bytes_done=40 * MIB, stage=2, **more):
    return Progress(
        plan="sha256:1",
        phase=Phase.MOVING,
        stage=stage,
        moves_done=done,
        moves_in_flight=flying,
        moves_total=81,
        bytes_done=bytes_done,
        bytes_total=120 * MIB,
        **more,
    )


def outcome(**more):
    return Outcome(State.WAITING, **more)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(outcome(), "", id="nothing-to-say"),
        pytest.param(
            outcome(progress=under_way(rate_bytes_per_s=12.1 * MIB, seconds_left=6.6)),
            "moving, stage 2: 12 of 81 moves, 10 in flight, 40 MiB of 120 MiB, 12.1 MiB/s, "
            "about 7 s left",
            id="all-known",
        ),
        pytest.param(
            outcome(progress=under_way(flying=0, stage=0)),
            "moving: 12 of 81 moves, 40 MiB of 120 MiB",
            id="before-the-first-stage",
        ),
        pytest.param(
            outcome(waits=gates("a", "b", "c", "d", "e", "f", "g")),
            "waits: a, b, c, d, e and 2 more",
            id="waits",
        ),
        pytest.param(
            outcome(waits=(in_flight(4), Wait(WaitReason.NO_CONTROLLER))),
            "waits: no controller is elected, stage 2: 4 of 12 partitions arrived",
            id="what-blocks-comes-first",
        ),
        pytest.param(
            outcome(progress=under_way(rate_bytes_per_s=MIB, seconds_left=9, still_s=300)),
            "moving, stage 2: 12 of 81 moves, 10 in flight, 40 MiB of 120 MiB, "
            "nothing has moved for 5 min",
            id="nothing-moves",
        ),
    ],
)
def test_a_line_says_how_far_it_is(found, text):
    assert progress.line(found) == text


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def printed(steps, every_s=5.0):
    """Print (time, outcome) pairs and return the lines."""
    stream, clock = io.StringIO(), Clock()
    with progress.LinePrinter(stream, every_s=every_s, clock=clock) as printer:
        for now_s, found in steps:
            clock.now_s = now_s
            printer(found)
    return stream.getvalue().splitlines()


def test_what_was_done_is_printed_at_once_and_progress_every_few_seconds():
    steps = [(t, outcome(progress=under_way(bytes_done=t * MIB))) for t in range(12)]
    steps.insert(3, (2.5, outcome(did=(REQUESTED,), progress=under_way(bytes_done=2))))
    assert printed(steps) == [
        "moving, stage 2: 12 of 81 moves, 10 in flight, 0 B of 120 MiB",
        "stage 2 requested: 12 partitions",
        "moving, stage 2: 12 of 81 moves, 10 in flight, 5 MiB of 120 MiB",
        "moving, stage 2: 12 of 81 moves, 10 in flight, 10 MiB of 120 MiB",
    ]


def test_a_new_reason_to_wait_is_printed_at_once_but_not_its_countdown():
    steps = [
        (0, outcome(waits=(in_flight(4),))),
        (1, outcome(waits=(in_flight(5),))),
        (2, outcome(waits=(Wait(WaitReason.NO_CONTROLLER),))),
        (3, outcome(waits=(Wait(WaitReason.NO_CONTROLLER),))),
    ]
    assert printed(steps) == [
        "waits: stage 2: 4 of 12 partitions arrived",
        "waits: no controller is elected",
    ]


def test_nothing_is_repeated_for_as_long_as_it_does_not_change():
    assert printed([(t, outcome(waits=gates("a gate"))) for t in (0, 60, 120)]) == ["waits: a gate"]


@pytest.mark.slow
def test_a_night_without_a_move_is_told_ever_more_seldom():
    still = [(t, outcome(progress=under_way(still_s=t))) for t in range(0, 12 * 3600, 3)]
    told = printed(still)
    assert len(told) < 160
    times = [line.partition("nothing has moved for ")[2] for line in told]
    assert times[:4] == ["0 s", "6 s", "18 s", "39 s"]
    goes_on = (12 * 3600, outcome(progress=under_way(done=13)))
    assert printed([*still, goes_on])[len(told) :] == [
        "moving, stage 2: 13 of 81 moves, 10 in flight, 40 MiB of 120 MiB"
    ]


def test_who_goes_on_says_once_that_nothing_is_waited_for_any_more():
    stream = io.StringIO()
    say = progress.news_printer("main", stream, as_json=False)
    done = Outcome(State.CONVERGED)
    for found in (done, outcome(waits=gates("a gate")), done, done, outcome(waits=gates("a gate"))):
        say(found)
    assert stream.getvalue().splitlines() == [
        "main: waits: a gate",
        "main: nothing is waited for any more",
        "main: waits: a gate",
    ]


def left(keeps, *topics, state=State.CONVERGED):
    """An outcome whose plan leaves a broker with so many replicas, and these topics undone."""
    reason = ProblemReason.TOO_FEW_BROKERS
    problems = [PlanProblem("p", "", Recorded(f"broker 3 keeps {keeps}", ProblemReason.LEFT_OUT))]
    problems += [PlanProblem("p", "", Recorded("too few", reason), topic) for topic in topics]
    problems += [PlanProblem("p", "", AwaitsMoves(3), "t")]  # a loop makes the next plan by itself
    return Outcome(state, plan=plan(problems=tuple(problems)))


LEFT = (left(5), left(4), Outcome(State.WAITING), left(4, "a"), left(4), left(4, "a"))


def test_a_loop_says_once_what_its_plans_leave_undone():
    stream = io.StringIO()
    say = progress.news_printer("main", stream, as_json=False)
    for found in LEFT:
        say(found)
    assert stream.getvalue().splitlines() == [
        "main: not as declared: pool p: broker 3 keeps 5",
        "main: not as declared: topic a: too few",
        "main: not as declared: topic a: too few",
    ]


def test_of_many_things_left_undone_the_first_are_told():
    stream = io.StringIO()
    progress.news_printer("main", stream, as_json=False)(left(1, *map(str, range(1_000))))
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("topic 3: too few and 996 more")


def test_what_a_loop_leaves_undone_as_lines_of_json():
    stream = io.StringIO()
    say = progress.news_printer("main", stream, as_json=True)
    for found in LEFT:
        say(found)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    keeps = {"reason": ProblemReason.LEFT_OUT.value, "pool": "p", "message": "broker 3 keeps 5"}
    assert [(line["state"], len(line["undone"])) for line in lines] == [
        *(("converged", 1), ("waiting", 1), ("converged", 2), ("converged", 1), ("converged", 2)),
    ]
    assert lines[0]["undone"] == [keeps]


def test_news_of_a_cluster_as_lines_of_json():
    stream = io.StringIO()
    say = progress.news_printer("main", stream, as_json=True)
    waiting = outcome(waits=gates("a gate"), progress=under_way())
    for found in (waiting, waiting, outcome(did=(REQUESTED,), waits=gates("a gate"))):
        say(found)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["cluster"], line["did"], line["waits"]) for line in lines] == [
        ("main", [], ["a gate"]),
        ("main", ["stage 2 requested: 12 partitions"], ["a gate"]),
    ]
    assert lines[0]["progress"] == {
        "plan": "sha256:1",
        "phase": "moving",
        "stage": 2,
        "movesDone": 12,
        "movesInFlight": 10,
        "movesTotal": 81,
        "bytesDone": 40 * MIB,
        "bytesTotal": 120 * MIB,
        "throttleBytesPerSecond": None,
        "throttleReason": None,
        "bytesPerSecond": None,
        "secondsLeft": None,
        "stillSeconds": None,
    }


def test_a_terminal_shows_a_bar_and_what_was_done_above_it():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)
    with progress.BarPrinter(console) as printer:
        printer(outcome(did=(REQUESTED,), waits=gates("a gate"), progress=under_way()))
    shown = stream.getvalue()
    assert "stage 2 requested" in shown
    assert "waits: a gate" in shown
    assert "moving, stage 2" in shown
    assert "12 of 81 moves, 10 in flight, 40 MiB of 120 MiB" in shown


def test_a_stream_that_is_no_terminal_gets_lines():
    assert isinstance(progress.printer(io.StringIO()), progress.LinePrinter)
