"""`poolkeeper fleet show`, `ddl` and `forget`: what the tables say, and shall say no more."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from poolkeeper import output_files
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.cli.output import ink, left_undone, printing
from poolkeeper.planning.proposals import plan_json
from poolkeeper.text import count, cut, duration, listed, size

if TYPE_CHECKING:
    from poolkeeper.fleet.lake.filesystems import Storage
    from poolkeeper.fleet.lake.lake import Lake
    from poolkeeper.fleet.stages.waves import ShownPlan
    from poolkeeper.model.plans import Plan

ENGINES = ("spark", "duckdb", "trino")
PROBLEMS_MAX = 10
"""The most problems that are shown; JSON has all of them."""


def plan_of(lake: "Lake", storage: "Storage", day: str, cluster: str) -> "ShownPlan":
    """The plan of a cluster; raises `Refused` with the reason where there is none."""
    waves = snapshot_files.fleet("stages.waves")
    found: ShownPlan = waves.plan_of(lake, storage, day, cluster)
    return found


def show(shown: "ShownPlan", file: Path | None, output: str) -> int:
    """Print a plan as `poolkeeper plan` does, write it for `apply --plan`; return the exit code."""
    plan = shown.plan
    body = plan_json.to_json(plan)
    if not shown.without:
        body.setdefault("parts", [])
    if file is not None:
        output_files.write(file, json.dumps(body, indent=1) + "\n")
    if output == printing.JSON:
        printing.emit_json(body)
    else:
        printing.emit(_sentence(plan))
        told = map(left_undone.sentence, left_undone.of_problems(plan.problems))
        for problem in cut(told, PROBLEMS_MAX):
            printing.emit("\n".join(ink.of_output().fold(f"  • {problem}", 4)))
        if not plan.empty:
            printing.emit(f"to carry it out: {_how(plan, file)}")
    if not shown.without:
        return 0
    printing.warn([f"{plan.cluster}: without stages and parts: {shown.without}"])
    return left_undone.EXIT_CODE


def _how(plan: "Plan", file: Path | None) -> str:
    """How the plan is carried out: a line of a shell once it is in a file."""
    if file is None:
        return "write it with --plan FILE, and give that to apply"
    words = ("--cluster", plan.cluster, "--plan", str(file))
    return f"poolkeeper apply -f DIR {shlex.join(words)}"


def _sentence(plan: "Plan") -> str:
    moved = size(sum(move.bytes for move in plan.moves))
    span = ""
    if plan.makespan is not None:
        span = f", {count(len(plan.stages), 'stage')} in {duration(plan.makespan.seconds)}"
    return (
        f"plan {plan.hash} of {plan.cluster}: {count(len(plan.moves), 'move')} ({moved}),"
        f" {count(len(plan.steps), 'other step')}, {count(len(plan.problems), 'problem')}"
        f"{span}"
    )


def ddl(lake: "Lake", storage: "Storage", engine: str, output: str) -> None:
    """Print statements that make views over the rows that count: to the letter, for a program."""
    views, publishing = (snapshot_files.fleet(m) for m in ("lake.views", "stages.publishing"))
    there = views.tables_there(lake.objects, storage, publishing.TABLES_OF)
    sql = views.views(lake.root, views.SqlDialect(engine), publishing.TABLES_OF, there)
    if output == printing.JSON:
        printing.emit_json({"engine": engine, "sql": sql})
    else:
        printing.emit_document(sql.rstrip("\n"))


def forget(lake: "Lake", names: tuple[str, ...], day: str | None, output: str) -> None:
    """Forget clusters, and tell what of them was there."""
    latest = day or next(lake.latest_days("snapshot"), "")
    forgetting = snapshot_files.fleet("stages.forgetting")
    made = forgetting.forget(lake, names, latest, undeclare=day is None)
    if output == printing.JSON:
        told = {
            "declared": made.declared,
            "day": made.day or None,
            "found": made.found,
            "outdated": made.outdated,
        }
        printing.emit_json(told)
        return
    for name in made.declared:
        printing.emit(f"{name} is declared no more (keep it out of the manifests of the next run)")
    for name in made.found:
        printing.emit(f"{name} is not in the snapshots and plans of {made.day} any more")
    if made.outdated:
        again = listed(f"`poolkeeper fleet {step}`" for step in made.outdated)
        printing.emit(f"what {again} made of {made.day} still has them: run that again")
