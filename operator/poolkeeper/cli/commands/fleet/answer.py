"""`poolkeeper fleet answer`: what a planning Job runs; a planning request in, plans out."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper import output_files
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.output import printing
from poolkeeper.errors import PoolkeeperError, wrong_file
from poolkeeper.frozen import frozen
from poolkeeper.text import count, first_line, part_of

if TYPE_CHECKING:
    from poolkeeper.kube.client.client import Api
    from poolkeeper.rebalances.planning.request import RebalanceRequest
    from poolkeeper.rebalances.planning.task_runner import WrittenResponse
    from poolkeeper.rebalances.text_store import TextStore

DEADLINE_S = 60.0
MESSAGE_CHARS_MAX = 2000

_FILE = click.Path(dir_okay=False, path_type=Path)
_MASTER = re.compile(
    r"local(\[(\*|[1-9][0-9]*)(,[1-9][0-9]*)?\])?|local-cluster\[.+\]|yarn|(spark|k8s)://.+"
)


def check_master(
    _context: click.Context, _option: click.Parameter, master: str | None
) -> str | None:
    """Refuse what is no master of Spark: its Java would start, and say so with its whole stack."""
    if master is not None and _MASTER.fullmatch(master) is None:
        raise click.BadParameter(
            f"{master!r} (expected local[N], spark://HOST:PORT or k8s://https://HOST:PORT)"
        )
    return master


@frozen
class AnswerOptions:
    """The options of the command."""

    source: Path
    digest: str | None
    out: Path | None
    job: str | None
    job_uid: str | None
    message: Path | None
    secrets: Path | None
    storage: str | None
    storage_settings: Path | None
    storage_from: int
    master: str | None
    processes: int | None
    conf: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if (self.job is None) != (self.job_uid is None) or (self.job is None) == (self.out is None):
            raise click.UsageError("expected --out, or --job and --job-uid")
        if self.storage and self.job is None:
            raise click.UsageError("--storage goes with --job")


@click.command()
@click.option(
    "--question",
    "source",
    metavar="FILE|DIR",
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="The planning request, or a folder with its pieces.",
)
@click.option("--digest", metavar="SHA256", help="The digest of a request in pieces.")
@click.option(
    "--out", cls=OutputOption, metavar="FILE", type=_FILE, help="Write the response to this file."
)
@click.option(
    "--job", metavar="NAMESPACE/NAME", help="Write the response to ConfigMaps of this Job."
)
@click.option("--job-uid", metavar="UID", help="The uid of this Job, which owns the ConfigMaps.")
@click.option(
    "--message",
    cls=OutputOption,
    metavar="FILE",
    type=_FILE,
    help="Say here how it ended, in one line.",
)
@click.option(
    "--secrets",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Secrets with credentials, a folder each; at the same path for all executors.",
)
@click.option(
    "--storage", metavar="URI", help="With --job: put a response that is long below this."
)
@click.option(
    "--storage-settings",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Hadoop's settings of --storage, such as keys: a file each.",
)
@click.option("--storage-from", metavar="BYTES", type=click.IntRange(min=0), default=0, hidden=True)
@click.option(
    "--master", metavar="URL", callback=check_master, help="Do it with Spark, at this master."
)
@click.option(
    "--processes", metavar="N", type=click.IntRange(min=1), help="Without --master: how many."
)
@click.option("--conf", metavar="KEY=VALUE", multiple=True, help="For Spark. Repeatable.")
def answer(**given: Any) -> None:
    """Answer the planning request of a Rebalance: read and plan every cluster that it names.

    A cluster that cannot be read or planned has its reason in the response; the others go on.
    """
    command = AnswerOptions(**given)
    given_to_spark = settings(command.conf)
    try:
        request = _read_request(command.source, command.digest)
        store = None if command.job is None else _Answers.opened(command, given_to_spark)
        made = _plan_clusters(request, command, given_to_spark)
        if store is not None:
            message = store.write(made.text)
        else:
            output_files.write(command.out or Path(), made.text)
            message = {"clusters": made.clusters}
    except PoolkeeperError as failed:
        _write_message(command.message, printing.one_line(str(failed))[:MESSAGE_CHARS_MAX])
        raise
    _write_message(command.message, json.dumps(message, sort_keys=True))
    printing.warn(f"{cluster}: {problem}" for cluster, problem in made.problems.items())
    well = made.clusters - len(made.problems)
    clusters = part_of(well, made.clusters, "cluster")
    printing.emit(f"{clusters} planned, {count(made.moves, 'move')}")


def settings(words: tuple[str, ...]) -> dict[str, str]:
    """Spark's settings by key."""
    found = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not key.strip() or not separator:
            raise click.BadParameter(f"{word!r} (expected KEY=VALUE)", param_hint="--conf")
        found[key] = value
    return found


def _read_request(source: Path, digest: str | None) -> "RebalanceRequest":
    from poolkeeper.rebalances.planning import text_chunks
    from poolkeeper.rebalances.planning.request import RebalanceRequest

    try:
        if not source.is_dir():
            return RebalanceRequest.from_json(source.read_text(encoding="utf-8"))
        pieces = [each.read_bytes() for each in sorted(source.glob("chunk-*"))]
    except (OSError, UnicodeDecodeError) as failed:
        raise wrong_file(source, f"cannot be read: {first_line(failed)}") from failed
    if digest is None:
        raise click.UsageError("--digest goes with a request in pieces")
    return RebalanceRequest.from_json(text_chunks.join_chunks(pieces, digest))


def _plan_clusters(
    request: "RebalanceRequest", command: AnswerOptions, conf: dict[str, str]
) -> "WrittenResponse":
    from poolkeeper.rebalances.planning import task_runner

    engines = snapshot_files.fleet("engines.engines")
    secrets = "" if command.secrets is None else str(command.secrets.absolute())
    with engines.open_engine(command.master, command.processes, conf) as engine:
        return task_runner.write_response(request, engine, secrets)


@frozen
class _Answers:
    """Where a Job's response is written."""

    api: "Api"
    texts: "TextStore"
    job: str
    uid: str

    @classmethod
    def opened(cls, command: AnswerOptions, conf: dict[str, str]) -> "_Answers":
        """Open it: what is wrong with the storage is told before anything is planned."""
        from poolkeeper.kube.client.client import Api
        from poolkeeper.kube.jobs import jobs
        from poolkeeper.rebalances import text_store

        namespace, separator, name = str(command.job).partition("/")
        if not separator:
            raise click.BadParameter(
                f"{command.job!r} (expected NAMESPACE/NAME)", param_hint="--job"
            )
        api = Api.connect(deadline_s=DEADLINE_S)
        texts = text_store.TextStore(api, namespace)
        if command.storage:
            opener = text_store.opener(command.storage, conf, command.storage_settings)
            least = command.storage_from or text_store.STORED_FROM_BYTES
            texts = text_store.TextStore(api, namespace, opener, least)
            texts.check(jobs.answer_name(name))
        return cls(api, texts, name, str(command.job_uid))

    def write(self, text: str) -> dict[str, object]:
        """Write the response; returns what is said of it."""
        from poolkeeper.kube.jobs import configmap_blob, jobs
        from poolkeeper.rebalances.planning import text_chunks

        stored = configmap_blob.Text(text_chunks.chunks_of(text), text_chunks.digest_of(text))
        owner = jobs.owner(self.job, self.uid)
        self.texts.write(jobs.answer_name(self.job), owner, stored, jobs.labels(self.job))
        self.api.close()
        return {"digest": stored.digest, "chunks": len(stored.chunks)}


def _write_message(file: Path | None, line: str) -> None:
    if file is not None:
        try:
            file.write_text(line, encoding="utf-8")
        except OSError as failed:
            printing.warn([f"{file}: cannot be written: {failed.strerror}"])
