"""The live page of a rehearsal: what the plan that there is now would do.

A rehearsal is work for this process: it is made when somebody opens the page, again after
`REHEARSE_EVERY_S` for as long as the page is open, and not at all for a large cluster.
"""

import shlex
from functools import partial

from poolkeeper.cli.commands.plans import plan as planning
from poolkeeper.cli.input.clusters import cluster_reading, plan_observation
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import StoredRun
from poolkeeper.rehearsal.results import page
from poolkeeper.rehearsal.results.outcomes import Rehearsed, Subject
from poolkeeper.rehearsal.values import Settings
from poolkeeper.report.document import Report
from poolkeeper.zk.journal import journal

REHEARSE_EVERY_S = 120.0
PARTITIONS_MAX = 20_000


@frozen
class RehearsalSeen:
    """A rehearsal, or why there is none."""

    cluster: str
    rehearsed: Rehearsed | None = None
    why_not: str = ""


def look(target: Target, words: tuple[str, ...]) -> RehearsalSeen:
    """Rehearse what is declared on a copy of the cluster; raises what `rehearse` raises."""
    desired = target.desired
    if desired is None:
        return RehearsalSeen(
            target.name, why_not="With manifests (-f DIR) a plan is rehearsed here."
        )
    with cluster_reading.session(target) as session:
        if journal.read_stored_run(session) != StoredRun():
            why = "A run is under way: its page tells how far it is, and how late."
            return RehearsalSeen(target.name, why_not=why)
    cluster = plan_observation.observe_for_plan(target, desired).observed.cluster
    partitions = sum(len(topic.partitions) for topic in cluster.topics.values())
    if partitions > PARTITIONS_MAX:
        line = f"poolkeeper rehearse {shlex.join(words)} --out rehearsal.html"
        why = f"It has {partitions:,} partitions: rehearse it by hand, `{line}`."
        return RehearsalSeen(target.name, why_not=why)
    subject = Subject(cluster, desired, partial(planning.audited_plan, prune=False))
    found = subject.rehearse(Settings(begin_ms=plan_observation.now_ms()))
    if found.plan.empty:
        return RehearsalSeen(target.name, why_not="There is nothing to move.")
    return RehearsalSeen(target.name, Rehearsed(found))


def report(seen: RehearsalSeen) -> Report:
    """The page."""
    if seen.rehearsed is None:
        return Report(f"Rehearsal of {seen.cluster}", seen.why_not)
    return page.report(seen.rehearsed)
