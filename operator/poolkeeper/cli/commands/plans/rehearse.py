"""`poolkeeper rehearse`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from poolkeeper import output_files
from poolkeeper.cli.commands.plans import plan as planning
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import plan_observation, targets
from poolkeeper.cli.input.files import other_manifests
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.output import left_alone, left_undone, printing
from poolkeeper.cli.output.plans import rehearsal_text
from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.rehearsal.results import document, outcomes, page, suggestions
from poolkeeper.rehearsal.results.outcomes import Rehearsed, Storm, Subject
from poolkeeper.rehearsal.values import Hardware, Rehearsal, Settings
from poolkeeper.report.changes import UnknownSizes
from poolkeeper.resources.parse.quantities import size_bytes

HTML = "html"
BADLY = left_undone.EXIT_CODE


def _rate(context: click.Context, option: click.Parameter, word: str) -> int:
    try:
        return size_bytes(word)
    except Refused as wrong:
        raise click.BadParameter(str(wrong), context, option) from wrong


def _percent(context: click.Context, option: click.Parameter, word: str | None) -> float | None:
    if word is None:
        return None
    number = word.removesuffix("%")
    if not word.endswith("%") or not number.isdecimal() or not 0 < int(number) <= 100:
        raise click.BadParameter(f"{word!r} (expected such as 60%)", context, option)
    return int(number) / 100


@click.command()
@options.by_manifests
@options.snapshot("Rehearse on a snapshot instead of a copy of the live cluster.")
@click.option(
    "--fail",
    "faults",
    metavar="WHAT@WHEN",
    multiple=True,
    help="Let something fail: broker=7@40%, rack=a@10m,for=5m, disk=3:/d1@1h, slow=5:10Mi@0%,"
    " controller@…, zookeeper@…,for=2m, poolkeeper@…. Repeatable.",
)
@click.option(
    "--storm",
    metavar="N",
    type=click.IntRange(1, 1000),
    help="Rehearse with N random faults, each by itself, and show the worst.",
)
@click.option(
    "--seed",
    metavar="S",
    type=click.IntRange(min=0),
    help="Draw the faults of --storm from this seed. [default: 0]",
)
@click.option(
    "--against",
    metavar="FILE|DIR",
    type=click.Path(path_type=Path),
    help="Compare with what these manifests declare instead: a file replaces resources of -f.",
)
@click.option(
    "--suggest", is_flag=True, help="Search the limits of the shortest run that keeps the margins."
)
@click.option(
    "--max-network",
    metavar="PERCENT",
    callback=_percent,
    help="The most of a broker's network that --suggest may use.",
)
@click.option(
    "--min-free-disk",
    metavar="PERCENT",
    callback=_percent,
    help="The least of a log directory that --suggest keeps free.",
)
@click.option(
    "--network",
    metavar="RATE",
    default="1Gi",
    show_default=True,
    callback=_rate,
    help="Bytes per second of a broker's network, each way.",
)
@click.option(
    "--disk",
    metavar="RATE",
    default="512Mi",
    show_default=True,
    callback=_rate,
    help="Bytes per second of a log directory.",
)
@click.option(
    "--real-zookeeper",
    is_flag=True,
    help="Copy the cluster into a real ZooKeeper, started for this (needs Java and Maven).",
)
@click.option(
    "--out",
    cls=OutputOption,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the page there (.html).",
)
@options.output(HTML)
def rehearse(
    address: ClusterSelection,
    snapshot: Path | None,
    network: int,
    disk: int,
    output: str,
    **asked: Any,
) -> int:
    """Show what a plan will do: its stages, traffic, disks, what waits for what, and its end.

    The passes of `apply` run on a simulated copy of the cluster, in virtual time. Nothing is
    written to the cluster.

    Exit code 4: the run never ends, or a partition falls below its min.insync.replicas because of
    the plan.
    """
    _refuse_contradictions(asked, output)
    target = targets.target(address)
    desired = target.desired
    assert desired is not None, "this command takes manifests only"
    left_alone.tell(target.others)
    look = (
        plan_observation.observe_snapshot(snapshot, desired)
        if snapshot
        else plan_observation.observe_for_plan(target, desired)
    )
    printing.warn(look.warnings)
    settings = Settings(Hardware(network, disk), begin_ms=plan_observation.now_ms())
    subject = subject_of(look.observed.cluster, desired)
    with _zookeeper_of(subject.cluster, real=asked["real_zookeeper"]) as new_zookeeper:
        settings = replace(settings, new_zookeeper=new_zookeeper)
        return _rehearse(address, subject, settings, look.observed, output, asked)


def _rehearse(
    address: ClusterSelection,
    subject: Subject,
    settings: Settings,
    observed: Observation,
    output: str,
    asked: dict[str, Any],
) -> int:
    if asked["suggest"]:
        return _suggest(subject, settings, output, asked)
    other = None
    if asked["against"] is not None:
        other = other_manifests.desired_of(address, asked["against"])
    found = outcomes.with_faults(subject, settings, asked["faults"])
    _warn_of_guesses(found.plain, subject)
    if other is not None:
        beside = subject_of(subject.cluster, other)
        return _compare(found, outcomes.with_faults(beside, settings, asked["faults"]), output)
    if found.plain.plan.empty:
        planned = subject.make_plan(subject.desired, observed)
        return _nothing(found, planned, output, asked["out"])
    storm = None
    if asked["storm"]:
        storm = outcomes.rehearse_storm(
            subject, settings, found.plain, asked["storm"], asked["seed"] or 0
        )
    _show(found, storm, output, asked["out"])
    return BADLY if _is_bad(found, storm) else 0


def _warn_of_guesses(found: Rehearsal, subject: Subject) -> None:
    """Say that times and bytes are guesses where sizes are unknown, as `plan` does."""
    sizes = UnknownSizes.of(found.plan, subject.cluster)
    if sizes.unknown:
        printing.warn([str(sizes)])


@contextmanager
def _zookeeper_of(cluster: Cluster, *, real: bool) -> Iterator[Callable[[], str] | None]:
    """Give what makes a chroot of a real ZooKeeper for each rehearsal; None for none."""
    if not real:
        yield None
        return
    from poolkeeper.rehearsal.cluster_copy import embedded  # brings what starts servers

    with embedded.zookeeper(cluster) as new_chroot:
        yield new_chroot


def subject_of(cluster: Cluster, desired: Desired) -> Subject:
    """What is rehearsed for a cluster: the plan that `plan` would make."""
    return Subject(cluster, desired, partial(planning.audited_plan, prune=False))


def _refuse_contradictions(asked: dict[str, Any], output: str) -> None:
    wrong = []
    if asked["storm"] and asked["faults"]:
        wrong.append(("--storm", "draws its own faults: leave --fail out"))
    if asked["seed"] is not None and not asked["storm"]:
        wrong.append(("--seed", "goes with --storm"))
    for option in ("max_network", "min_free_disk"):
        if asked[option] is not None and not asked["suggest"]:
            wrong.append((f"--{option.replace('_', '-')}", "goes with --suggest"))
    if asked["suggest"] and asked["faults"]:
        wrong.append(("--suggest", "searches without faults: leave --fail out"))
    for option in ("against", "suggest"):
        if asked[option] and (asked["out"] is not None or output == HTML):
            wrong.append((f"--{option}", "has no page: leave --out and --output html out"))
    for option in ("storm", "against", "suggest"):
        others = [each for each in ("storm", "against", "suggest") if each > option]
        wrong += [
            (f"--{option}", f"and --{each} exclude each other")
            for each in others
            if asked[option] and asked[each]
        ]
    if asked["out"] is not None and asked["out"].suffix != ".html":
        wrong.append(("--out", f"{asked['out']} (expected a file whose name ends in .html)"))
    if wrong:
        raise InvalidInput([Problem("", 0, option, why) for option, why in wrong])


def _is_bad(found: Rehearsed, storm: Storm | None) -> bool:
    return found.shown.bad or (storm is not None and storm.worst[1].bad)


def _nothing(found: Rehearsed, planned: Plan, output: str, out: Path | None) -> int:
    """Say that the copy is as declared; `planned` is the plan of the cluster itself."""
    told = rehearsal_text.empty(found.plain.plan, done_by_copy=not planned.empty)
    if output == printing.TEXT:
        _write_page(found, None, out)
        printing.emit(told)
    else:
        _show(found, None, output, out)
        if not planned.empty:
            printing.warn([told])
    return 0


def _write_page(found: Rehearsed, storm: Storm | None, out: Path | None) -> None:
    if out is not None:
        output_files.write(out, page.render(found, storm))


def _show(found: Rehearsed, storm: Storm | None, output: str, out: Path | None) -> None:
    _write_page(found, storm, out)
    if output == printing.JSON:
        printing.emit_json(document.to_json(found, storm))
    elif output == HTML:
        printing.emit(page.render(found, storm))
    else:
        printing.emit(rehearsal_text.render(found, storm))


def _compare(left: Rehearsed, right: Rehearsed, output: str) -> int:
    if output == printing.JSON:
        body = {"version": document.VERSION, "runs": _summaries(left.shown, right.shown)}
        printing.emit_json(body)
    else:
        names = ("as declared", "against")
        printing.emit(rehearsal_text.comparison_text(left.shown, right.shown, names))
    return BADLY if left.shown.bad or right.shown.bad else 0


def _summaries(*runs: Rehearsal) -> list[dict[str, Any]]:
    return [document.summary(run) for run in runs]


def _suggest(subject: Subject, settings: Settings, output: str, asked: dict[str, Any]) -> int:
    margins = suggestions.Margins(asked["max_network"], asked["min_free_disk"])
    found = suggestions.search(subject, settings, margins)
    if found.best is None:
        why = "; ".join(found.misses) or "the plan is empty"
        told = "no limits keep these margins" if found.misses else "nothing to rehearse"
        printing.warn([f"{told}: {why}"])
        if output == printing.JSON:
            printing.emit_json({"version": document.VERSION, "execution": None, "reason": why})
        return 0 if not found.misses else BADLY
    _warn_of_guesses(found.best.run, subject)
    lines = suggestions.manifest_lines(found.best.execution)
    if output == printing.JSON:
        summary = document.summary(found.best.run)
        body = {"version": document.VERSION, "execution": found.best.as_data(), **summary}
        printing.emit_json(body)
    else:
        printing.emit(f"# {rehearsal_text.end_text(found.best.run)}, of {found.tried} rehearsals")
        printing.emit("\n".join(lines))
    return 0
