"""What `status --watch` draws on a terminal, and prints elsewhere."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

import builders
from poolkeeper.cli.commands.plans import status as command
from poolkeeper.cli.output.runs.live_status import LiveStatus
from poolkeeper.cli.output.runs.status_values import RunStatus, Status
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.run_state.progress.punctuality import LateReason, Punctuality

MIB = 1024**2
MOVES = (
    builders.move("orders", 0, (1, 2), (3, 4), bytes=40 * MIB),
    builders.move("orders", 1, (1, 2), (1, 3), bytes=20 * MIB),
)
RUN = RunStatus(
    plan="sha256:ab",
    phase="moving",
    stage=2,
    started_ms=0,
    moves={"done": 1, "in flight": 2},
    moves_total=3,
    bytes_done=20 * MIB,
    bytes_total=80 * MIB,
    throttle_bytes_per_s=MIB,
    stopping=False,
    in_flight=MOVES,
    punctuality=Punctuality(100.0, 90.0, 40.0, MIB, LateReason.SLOWER),
)
STATUS = Status(
    cluster="main",
    id=None,
    kafka_version="3.9",
    controller=1,
    brokers=4,
    topics=1,
    partitions=3,
    under_replicated=(),
    arriving=(),
    offline=(),
    holder="poolkeeper apply on host-1, process 42",
    run=RUN,
    stopped=None,
)


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def drawn(*looks: Status, every_s: float = 2.0, height: int = 40) -> list[str]:
    """Return the lines that the last look draws on a terminal."""
    clock = Clock()
    console = Console(file=io.StringIO(), width=100, height=height, force_terminal=True)
    live = LiveStatus(console, clock)
    for look in looks:
        view = live.view(look)
        clock.now_s += every_s
    plain = Console(file=io.StringIO(), width=100, height=height, no_color=True)
    with plain.capture() as captured:
        plain.print(view)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_view_has_facts_a_bar_brokers_and_moves():
    later = replace(STATUS, run=replace(RUN, bytes_done=40 * MIB))
    assert drawn(STATUS, later, every_s=20.0) == [
        "cluster     main (Kafka 3.9)",
        "controller  broker 1",
        "topology    4 live brokers, 1 topic, 3 partitions",
        "health      all replicas are in sync",
        "executor    poolkeeper apply on host-1, process 42",
        "run         sha256:ab",
        "            moving, stage 2, began 1970-01-01 00:00:00 UTC",
        "moves       1 of 3 done, 2 in flight",
        "bytes       40 MiB of 80 MiB",
        "throttle    1 MiB/s a broker",
        "time        1 min 30 s of 1 min 40 s predicted; 40 s late: replicas are or were copied"
        " more slowly",
        "            than the plan assumed",
        "",
        " 50 % ━━━━━━━━━━━━━━━━━━━━                     1 MiB/s, about 40 s left",
        "",
        "broker    receives   bytes    gives up",
        "3       2 replicas  40 MiB",
        "4        1 replica  20 MiB",
        "1                            1 replica",
        "2                           2 replicas",
        "",
        "moving    from   to   bytes",
        "orders-0   1,2  3,4  40 MiB",
        "orders-1   1,2  1,3  20 MiB",
    ]


@pytest.mark.parametrize(
    ("done", "shown"),
    [(0, "  0 %"), (1, "  1 %"), (80 * MIB - 1, " 99 %"), (80 * MIB, "100 %")],
)
def test_a_bar_is_at_an_end_only_with_nothing_or_all_done(done: int, shown: str) -> None:
    lines = drawn(replace(STATUS, run=replace(RUN, bytes_done=done)))
    (bar,) = [line for line in lines if "%" in line]
    assert bar.startswith(shown)


def test_a_low_terminal_gets_what_fits_and_how_much_does_not():
    lines = drawn(STATUS, height=10)
    assert len(lines) == 9
    assert lines[0] == "cluster     main (Kafka 3.9)"
    assert lines[-1] == "and 16 more lines"


def test_what_blocks_comes_first_and_a_quiet_cluster_has_no_bar():
    blocked = replace(STATUS, run=None, waits=(Wait(WaitReason.NO_CONTROLLER),))
    lines = drawn(blocked)
    assert lines[0].startswith("blocked by  ")
    assert not any("%" in line for line in lines)


def test_a_terminal_gets_each_look_in_place():
    screen = io.StringIO()
    with LiveStatus(Console(file=screen, width=100, height=40, force_terminal=True)) as live:
        live.show(STATUS)
        first = screen.tell()
        live.show(replace(STATUS, run=None))
        second = screen.getvalue()[first:]
    ups = second.count("\x1b[1A")  # one line up, which is written again
    assert ups == len(drawn(STATUS)) - 1
    assert "none is recorded" in second


def test_elsewhere_a_look_is_printed_if_more_than_the_time_has_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    later = replace(
        STATUS, run=replace(RUN, punctuality=Punctuality(100.0, 92.0, 42.0, MIB, LateReason.SLOWER))
    )
    done = replace(STATUS, run=None)
    with command._viewer("text") as show:
        for look in (STATUS, later, done, done):
            show(look)
    printed = capsys.readouterr().out
    assert printed.count("cluster     main") == 2
    assert printed.endswith("\nrun         none is recorded\n")
