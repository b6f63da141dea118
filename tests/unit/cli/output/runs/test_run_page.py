"""The page of a run and that of the finished ones, as what they tell and as a whole page."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import builders
from poolkeeper.cli.output.plans import plan_page
from poolkeeper.cli.output.plans.plan_page import PlanSeen, PlanState
from poolkeeper.cli.output.runs import run_page
from poolkeeper.cli.output.runs.run_page import RunSeen
from poolkeeper.cli.output.runs.status_values import RunStatus, Status
from poolkeeper.errors import NodeDamage
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import AddPartitions, CreateTopic
from poolkeeper.model.topology import TopicPartition
from poolkeeper.report.document import CellKind
from poolkeeper.report.html import page
from poolkeeper.report.html.frame import Frame, PageLink

GOLDEN = Path(__file__).parents[4] / "golden" / "ui" / "run.html"
HASH = "sha256:" + "5" * 64
MIB = 2**20
FRAME = Frame(
    (PageLink("Run", "/clusters/main/run", True), PageLink("Plan", "/clusters/main/plan")),
    "/clusters/main/run/events?shown=0123456789abcdef",
    5,
    "seen at 12:00:00 UTC",
)
RUN = RunStatus(
    plan=HASH,
    phase="moving",
    stage=2,
    started_ms=1_700_000_000_000,
    moves={"done": 3, "gone": 1, "in flight": 2, "pending": 6},
    moves_total=12,
    bytes_done=400 * MIB,
    bytes_total=1200 * MIB,
    throttle_bytes_per_s=100 * MIB,
    stopping=False,
    in_flight=(
        builders.move("orders", 4, (1, 2), (3, 4), bytes=100 * MIB, reason="moves into pool fast"),
        builders.move("<b>&amp;", 5, (2, 1), (4, 3), bytes=0, reason="</script>"),
    ),
)
IDLE = Status("main", "id", "3.9", 1, 4, 2, 30, (), (), (), None, None, None)


def status(run: RunStatus | None = RUN, **fields: object) -> Status:
    known = {name: getattr(IDLE, name) for name in Status.__dataclass_fields__}
    return Status(**{**known, "run": run, "holder": "apply on host-1, process 42", **fields})


class Balanced(HTMLParser):
    """Fails where elements are not balanced."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_whole_page_of_a_run(update_golden: bool) -> None:
    waits = (
        Wait(WaitReason.RUN_WITHOUT_EXECUTOR),
        Wait(WaitReason.LEFT_ALONE, partitions=(TopicPartition("orders", 7),)),
    )
    written = page.render(run_page.report(RunSeen(status(waits=waits))), FRAME)
    if update_golden:
        GOLDEN.write_text(written)
    assert written == GOLDEN.read_text()
    parser = Balanced()
    parser.feed(written)
    assert parser.open == []
    (policy,) = re.findall(r'Policy" content="([^"]+)"', written)
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", written, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(
            status(), "moving, stage 2: 3 of 12 moves done, 400 MiB of 1.17 GiB", id="in-a-stage"
        ),
        pytest.param(status(None), "No run is under way", id="idle"),
        pytest.param(
            status(
                None,
                waits=tuple(map(Wait, (WaitReason.NO_CONTROLLER, WaitReason.KRAFT_MIGRATION))),
            ),
            "No run is under way; blocked for 2 reasons",
            id="blocked",
        ),
        pytest.param(
            status(None, damage=(NodeDamage("/poolkeeper/run", "no JSON"),)),
            "No run is under way; 1 node cannot be read",
            id="damaged",
        ),
        pytest.param(
            status(
                offline=(TopicPartition("t", 0),),
                under_replicated=(TopicPartition("t", 1), TopicPartition("t", 2)),
            ),
            "moving, stage 2: 3 of 12 moves done, 400 MiB of 1.17 GiB;"
            " 1 partition without a leader; 2 partitions under-replicated",
            id="sick-in-a-run",
        ),
        pytest.param(
            status(None, under_replicated=(TopicPartition("t", 0),)),
            "No run is under way; 1 partition under-replicated",
            id="under-replicated",
        ),
        pytest.param(
            status(None, offline=(TopicPartition("t", 0), TopicPartition("t", 1))),
            "No run is under way; 2 partitions without a leader",
            id="offline",
        ),
        pytest.param(
            status(None, state_unknown=(TopicPartition("t", 0),)),
            "No run is under way; state of 1 partition is not known",
            id="state-unknown",
        ),
    ],
)
def test_a_cluster_in_a_line(seen: Status, expected: str) -> None:
    assert run_page.line(RunSeen(seen)) == expected


def test_that_nobody_leads_is_told_above_all_else() -> None:
    damage = (NodeDamage("/poolkeeper/run", "no JSON"),)
    seen = RunSeen(status(None, damage=damage), ("no operator of the release a/b leads",))
    assert run_page.line(seen) == ("No run is under way; no operator leads; 1 node cannot be read")
    first = run_page.report(seen).sections[0]
    assert (first.title, first.items[0][0].text) == (
        "Nobody leads",
        "No operator of the release a/b leads",
    )


def test_what_cannot_be_read_comes_first() -> None:
    damage = (NodeDamage("/poolkeeper/run", "no JSON"),)
    found = run_page.report(RunSeen(status(None, damage=damage)))
    assert [each.title for each in found.sections] == ["Cannot be read", "The cluster"]


def test_sections_are_as_long_as_a_reader_reads() -> None:
    many = tuple(
        Wait(WaitReason.LEFT_ALONE, partitions=(TopicPartition(f"t{n}", 0),)) for n in range(120)
    )
    found = {each.title: each for each in run_page.report(RunSeen(status(waits=many))).sections}
    shown = found["What it waits for"]
    assert len(shown.items) <= run_page.ITEMS_MAX


def test_finished_runs_the_latest_first() -> None:
    runs = [
        FinishedRun(HASH, 0, ended, Ending.FINISHED, 2, 12, 12, MIB, "me", "apply")
        for ended in (60_000, 120_000)
    ]
    found = run_page.history("main", runs, ())
    assert (found.title, found.lead) == (
        "History of cluster main",
        "The last 2 runs that ended.",
    )
    ((table,),) = (section.tables for section in found.sections)
    assert [row[0].text for row in table.rows] == ["1970-01-01T00:02:00Z", "1970-01-01T00:01:00Z"]
    assert table.rows[0][1] == (f"{HASH[:15]}", CellKind.NAME, -1, None, "")


def test_no_finished_runs() -> None:
    found = run_page.history("main", (), ())
    assert (found.lead, found.sections) == ("No run has ended yet.", ())


MOVING = builders.plan(builders.move("t", 0, (1, 2), (1, 3)), hash=HASH)


@pytest.mark.parametrize(
    ("state", "plan", "expected"),
    [
        pytest.param(
            PlanState.MADE_NOW,
            MOVING,
            [
                f"kubectl poolkeeper approve --cluster main --plan {HASH}",
                f'spec: {{approval: {{plans: ["{HASH}"]}}}}',
                "poolkeeper plan -f 'my manifests' --out plan.json",
                "poolkeeper apply -f 'my manifests' --plan plan.json",
            ],
            id="made-now",
        ),
        pytest.param(
            PlanState.WAITS,
            MOVING,
            [
                f"kubectl poolkeeper approve --cluster main --plan {HASH}",
                f'spec: {{approval: {{plans: ["{HASH}"]}}}}',
                "poolkeeper plan -f 'my manifests' --out plan.json",
                "poolkeeper apply -f 'my manifests' --plan plan.json",
            ],
            id="waits",
        ),
        pytest.param(PlanState.UNDER_WAY, MOVING, [], id="under-way"),
        pytest.param(PlanState.MADE_NOW, builders.plan(), [], id="nothing-to-do"),
        pytest.param(PlanState.UNKNOWN, builders.plan(), [], id="unknown"),
    ],
)
def test_the_lines_that_approve_a_plan(state: PlanState, plan, expected: list[str]) -> None:
    desired = builders.desired(builders.pool_spec("p", 1, 2, 3))
    cluster = builders.cluster((1, 2, 3), builders.topic("t", builders.partition(0, 1, 2)))
    seen = PlanSeen(state, plan, desired, cluster, ("-f", "my manifests"))
    lines = [
        cell.text
        for section in plan_page.report(seen).sections
        for row in section.items
        for cell in row
        if cell.kind is CellKind.COMMAND
    ]
    assert lines == expected
    assert plan_page.pools(seen).title == "Pools of cluster main"


def test_what_a_run_has_created_counts_once() -> None:
    steps = (CreateTopic("n", "p", ((1, 2),)), AddPartitions("t", 1, ((1, 2),)))
    plan = builders.plan(steps=steps)
    desired = builders.desired(builders.pool_spec("p", 1, 2))
    one, two = builders.partition(0, 1, 2), builders.partition(1, 1, 2)
    before = builders.cluster((1, 2), builders.topic("t", one))
    after = builders.cluster((1, 2), builders.topic("t", one, two), builders.topic("n", one))
    found = []
    for cluster in (before, after):
        seen = PlanSeen(PlanState.UNDER_WAY, plan, desired, cluster)
        brokers = plan_page.pools(seen).sections[1].tables[0].rows
        found.append([(row[4].text, row[5].text) for row in brokers])
    assert found == [[("1", "3"), ("1", "3")], [("3", "3"), ("3", "3")]]
