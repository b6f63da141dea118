"""`poolkeeper whatif keys`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import studied_cluster
from poolkeeper.cli.input.clusters.studied_cluster import StudiedCluster
from poolkeeper.cli.input.files import key_files
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.studies import keys_text
from poolkeeper.errors import InvalidInput, Problem, wrong_field
from poolkeeper.model.specs import TopicSpec
from poolkeeper.studies.key_growth import KeyCounts, PartitionGrowth, count_keys, is_compacted
from poolkeeper.text import count, few, one_of

PARTITIONS_MAX = 1_000_000
_GROWTH = re.compile(r"(?:([0-9]{1,99}) *(?:→|->|:) *)?([0-9]{1,99})")
_NAMES_MAX = 10


class AskedCounts(NamedTuple):
    """Numbers of partitions on the command line; `before` may be left out."""

    before: int | None
    after: int


def _parsed(_: click.Context, __: click.Parameter, word: str | None) -> AskedCounts | None:
    if word is None:
        return None
    match = _GROWTH.fullmatch(word.strip())
    if match is None:
        raise click.BadParameter(f"{word!r} (expected N:M, such as 4:6, or M)")
    before = None if match[1] is None else int(match[1])
    if max(before or 0, int(match[2])) > PARTITIONS_MAX:
        raise click.BadParameter(f"{word!r} (expected at most {PARTITIONS_MAX:,} partitions)")
    return AskedCounts(before, int(match[2]))


@click.command()
@studied_cluster.by_cluster_or_snapshot
@click.option("--topic", metavar="NAME", help="The topic that gets partitions.")
@click.option(
    "--partitions",
    "asked",
    metavar="N:M",
    callback=_parsed,
    help="From N to M partitions; M alone where the cluster or the snapshot tells N.",
)
@click.option(
    "--keys",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Real keys, one a line: counted as well. `-` is standard input, .gz is unpacked.",
)
@click.option("--hex", "hexadecimal", is_flag=True, help="The lines of --keys are hexadecimal.")
@options.output()
def keys(
    where: str | None,
    snapshot: Path | None,
    file: Path | None,
    output: str,
    **given: Any,
) -> None:
    """Say how many keys change partition if a topic gets more partitions. Changes nothing.

    Without --partitions: of each topic whose manifest (-f) declares more partitions than it has.
    Without a cluster or a snapshot --partitions N:M is all that is needed.
    """
    topic, asked, hexadecimal = (given.pop(key) for key in ("topic", "asked", "hexadecimal"))
    if hexadecimal and file is None:
        raise click.UsageError("--hex says how --keys is written: give both")
    found = studied_cluster.read_declared(where, snapshot, given)
    printing.warn(() if found is None else found.warnings)
    growths = _asked_for(found, topic, asked) if asked else _declared(found, topic)
    if file is not None and len(growths) != 1:
        names = few((growth.topic for growth in growths), _NAMES_MAX) or "none"
        raise click.UsageError(f"--keys are the keys of one topic: give --topic (one of {names})")
    counts: list[KeyCounts | None] = [None] * len(growths)
    if file is not None:
        batches = key_files.batches(file, hexadecimal=hexadecimal)
        counts = [count_keys(batches, growths[0].before, growths[0].after)]
    studied = list(zip(growths, counts, strict=True))
    if output == printing.JSON:
        printing.emit_json({"topics": [keys_text.as_data(*each) for each in studied]})
        return
    if not studied:
        printing.emit("no topic is declared with more partitions than it has")
    layout = ink.of_output()
    shown = [
        "\n".join(keys_text.lines(growth, counted, key_files.name_of(file), layout))
        for growth, counted in studied
    ]
    printing.emit("\n\n".join(shown))


def _asked_for(
    found: StudiedCluster | None, topic: str | None, asked: AskedCounts
) -> Sequence[PartitionGrowth]:
    """The growth that the command line names; raises InvalidInput with all that is wrong."""
    problems: list[Problem] = []
    before = asked.before
    seen = None
    if found is not None and topic is None:
        raise click.UsageError("--partitions is about one topic: give --topic")
    if found is not None and topic is not None:
        seen = found.cluster.topics.get(topic)
        if seen is None:
            problems.append(_no_topic(found, topic))
        elif before is not None and before != len(seen.partitions):
            message = f"topic {topic} has {count(len(seen.partitions), 'partition')} (not {before})"
            problems.append(Problem("", 0, "--partitions", message))
        else:
            before = len(seen.partitions)
    if before is None and found is None:
        message = f"how many it has is not known (expected N:{asked.after})"
        problems.append(Problem("", 0, "--partitions", message))
    if before == 0:
        message = f"{before} → {asked.after} (expected 1 or more now)"
        problems.append(Problem("", 0, "--partitions", message))
    elif before is not None and before >= asked.after:
        message = f"{before} → {asked.after} adds none (expected more: partitions never shrink)"
        problems.append(Problem("", 0, "--partitions", message))
    if problems:
        raise InvalidInput(problems)
    assert before is not None
    spec = _spec(found, topic)
    config = {} if spec is None else spec.config
    known = None if seen is None or seen.config is None else {**seen.config, **config}
    keyed = None if spec is None else spec.keyed
    return [PartitionGrowth(topic or "", before, asked.after, keyed, is_compacted(known))]


def _declared(found: StudiedCluster | None, topic: str | None) -> Sequence[PartitionGrowth]:
    """The growths that manifests declare; raises InvalidInput for a topic that is not there."""
    if found is None:
        raise click.UsageError("nothing grows: give --partitions N:M, or manifests with -f")
    if found.desired is None:
        raise click.UsageError("nothing grows: give --topic and --partitions, or manifests with -f")
    if topic is not None and _spec(found, topic) is None:
        raise wrong_field("--topic", f"no Topic declares {topic}")
    growths = []
    for spec in sorted(found.desired.topics, key=lambda spec: spec.topic):
        seen = found.cluster.topics.get(spec.topic)
        wanted = spec.declared_partitions
        if topic not in (None, spec.topic) or seen is None or wanted is None:
            continue
        if 0 < len(seen.partitions) < wanted:
            config: Mapping[str, str] = {**(seen.config or {}), **spec.config}
            growths.append(
                PartitionGrowth(
                    spec.topic, len(seen.partitions), wanted, spec.keyed, is_compacted(config)
                )
            )
    return growths


def _spec(found: StudiedCluster | None, topic: str | None) -> TopicSpec | None:
    topics = () if found is None or found.desired is None else found.desired.topics
    return next((spec for spec in topics if spec.topic == topic), None)


def _no_topic(found: StudiedCluster, topic: str) -> Problem:
    names = one_of(sorted(found.cluster.topics), _NAMES_MAX)
    return Problem("", 0, "--topic", f"there is no topic {topic} ({names})")
