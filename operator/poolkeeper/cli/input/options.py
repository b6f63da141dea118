"""Options that several commands share, and which of them contradict each other.

A cluster is addressed by manifests or directly by its ZooKeeper. `by_address` gives a command one
value, `ClusterSelection`, for all of these options. The checks between options are here only.
"""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli import timing
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.output import hints, printing
from poolkeeper.cli.output.hints import AddressOptions
from poolkeeper.errors import PoolkeeperError
from poolkeeper.frozen import frozen
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import AuditLog, Emit

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


class Number(click.FloatRange):
    """A number in a range: neither infinite nor `nan`, which no range keeps out."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """See `click.FloatRange`."""
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no finite number.", param, ctx)
        return found


@frozen
class ClusterSelection:
    """The cluster selected on the command line.

    `folders` is empty exactly if the cluster is addressed directly, by `zookeeper`.
    """

    folders: tuple[Path, ...] = ()
    cluster: str | None = None
    zookeeper: str | None = None
    bootstrap: tuple[str, ...] = ()
    client_config: Path | None = None
    timeout_s: float = timing.TIMEOUT_S

    @property
    def words(self) -> tuple[str, ...]:
        """The options that name the manifests, for a line of a shell; none without manifests."""
        return self.in_hints.words if self.folders else ()

    @property
    def in_hints(self) -> AddressOptions:
        """The same as options of the commands that messages name."""
        brokers = ("--bootstrap", ",".join(self.bootstrap)) if self.bootstrap else ()
        file = self.client_config
        return AddressOptions(
            tuple(word for folder in self.folders for word in ("-f", str(folder))),
            ("--cluster", self.cluster) if self.cluster else (),
            () if self.zookeeper is None else ("--zookeeper", self.zookeeper, *brokers),
            () if file is None else ("--client-config", str(file)),
        )


def output(*more: str) -> Decorator:
    """Add `--output text|json`, and other formats where a command has them."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice((printing.TEXT, printing.JSON, *more)),
        default=printing.TEXT,
        show_default=True,
        help="What to write to standard output.",
    )


def audit_log(*, joins_lines: bool = False) -> Decorator:
    """Add `--audit-log FILE`; the command gets `audit_log`, where lines of the trail go.

    `joins_lines`: see `OutputOption`.
    """

    def opened(context: click.Context, _option: click.Parameter, name: str | None) -> Emit:
        if name is None:
            return audit.discard
        log = AuditLog.open(name)
        context.call_on_close(log.close)
        return log.emit

    return click.option(
        "--audit-log",
        cls=OutputOption,
        joins_lines=joins_lines,
        metavar="FILE",
        callback=opened,
        help="Append a JSON line for each decision and each write; `-` is standard output.",
    )


def snapshot(told: str = "Instead of a cluster: a snapshot of one.") -> Decorator:
    """Add `--snapshot FILE`; `told` is its line of help."""
    return click.option(
        "--snapshot",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help=told,
    )


def folders(*, required: bool = False) -> Decorator:
    """Add `-f DIR`, repeatable."""
    return click.option(
        "-f",
        "--filename",
        "folders",
        metavar="DIR|FILE",
        type=click.Path(path_type=Path),
        multiple=True,
        required=required,
        help="Manifests: a file, or a folder with all below it. Repeatable.",
    )


def _names_declared(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """Complete a cluster's name from the manifests before it; none if they are wrong."""
    from poolkeeper.resources.checks import folder  # commands that load no manifests need it not

    try:
        found = folder.load(tuple(map(Path, context.params["folders"])))
    except PoolkeeperError:
        return []
    return sorted(spec.name for spec in found.clusters if spec.name.startswith(incomplete))


def cluster(also: str = "") -> Decorator:
    """Add `--cluster NAME`; `also` is what else its help says."""
    return click.option(
        "--cluster",
        metavar="NAME",
        shell_complete=_names_declared,
        help=f"Which cluster, where the manifests hold several{also}.",
    )


def connection() -> Decorator:
    """Add the options for addresses, credentials and timeouts."""
    return _together(
        click.option(
            "--client-config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Credentials and TLS, for ZooKeeper and for the brokers.",
        ),
        click.option(
            "--timeout",
            "timeout_s",
            metavar="SECONDS",
            type=Number(min=0, min_open=True),
            default=timing.TIMEOUT_S,
            show_default=True,
            help="How long to try to reach ZooKeeper and the brokers.",
        ),
    )


def by_manifests(function: Function) -> Function:
    """Give a command `address` for a cluster that manifests declare."""
    return _by_manifests(function, required=True)


def by_manifests_if_any(function: Function) -> Function:
    """Give a command `address`; its folders are empty if none are given."""
    return _by_manifests(function, required=False)


def _by_manifests(function: Function, *, required: bool) -> Function:
    @functools.wraps(function)
    def called(
        *,
        folders: tuple[Path, ...],
        cluster: str | None,
        client_config: Path | None,
        timeout_s: float,
        **rest: Any,
    ) -> Any:
        address = _selected(ClusterSelection(folders, cluster, None, (), client_config, timeout_s))
        return function(address=address, **rest)

    return _together(folders(required=required), cluster(), connection())(called)


def by_address(function: Function) -> Function:
    """Give a command `address` for a cluster addressed either way, with `[CLUSTER]`."""

    @functools.wraps(function)
    def called(*, where: str | None, **given: Any) -> Any:
        rest = {key: given.pop(key) for key in list(given) if key not in _ADDRESS_KEYS}
        return function(address=address_of(where, **given), **rest)

    argument = click.argument("where", metavar="[CLUSTER]", required=False)
    return argument(address_options(called))


def address_options(function: Function) -> Function:
    """Add the options of both ways of addressing, unparsed, for `address_of`."""
    return _together(
        folders(),
        cluster("; with an address: how it is called"),
        click.option(
            "--zookeeper",
            metavar="CONNECT",
            help="Instead of manifests: host:port,host:port/chroot.",
        ),
        click.option(
            "--bootstrap",
            metavar="HOST:PORT",
            help="With --zookeeper: the brokers, to ask for sizes; several by commas.",
        ),
        connection(),
    )(function)


_ADDRESS_KEYS = {"folders", "cluster", "zookeeper", "bootstrap", "client_config", "timeout_s"}


def address_of(
    where: str | None,
    *,
    folders: tuple[Path, ...],
    cluster: str | None,
    zookeeper: str | None,
    bootstrap: str | None,
    client_config: Path | None,
    timeout_s: float,
) -> ClusterSelection:
    """Combine the options; raises a usage error where they contradict each other.

    CLUSTER is a connect string if there is a colon or a slash in it, else a name.
    """
    if where is not None and (":" in where or "/" in where):
        zookeeper = _connect(where, zookeeper)
    elif where is not None:
        cluster = _name(where, cluster)
    if zookeeper is not None and folders:
        raise click.UsageError("-f and --zookeeper exclude each other")
    if zookeeper is None and not folders:
        missing = "no cluster is given: -f DIR [--cluster NAME], or --zookeeper"
        if cluster is not None:
            missing = (
                f"nothing tells where cluster {cluster} is: give its manifests (-f DIR), or"
                " HOST:PORT/CHROOT in place of the name"
            )
        raise click.UsageError(missing)
    if bootstrap is not None and zookeeper is None:
        raise click.UsageError("--bootstrap goes with --zookeeper (manifests name the brokers)")
    servers = _servers(bootstrap)
    return _selected(
        ClusterSelection(folders, cluster, zookeeper, servers, client_config, timeout_s)
    )


def _selected(address: ClusterSelection) -> ClusterSelection:
    """Return the address, for which hints are printed from now on if a command line gave it."""
    if click.get_current_context(silent=True) is not None:
        hints.printed_for(address.in_hints)
    return address


def _connect(where: str, zookeeper: str | None) -> str:
    if zookeeper is not None:
        raise click.UsageError("CLUSTER and --zookeeper both give a connect string")
    return where


def _name(where: str, cluster: str | None) -> str:
    if cluster not in (None, where):
        raise click.UsageError(f"CLUSTER is {where}, but --cluster is {cluster}")
    return where


def _servers(bootstrap: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (bootstrap or "").split(",") if part.strip())


def _together(*decorators: Decorator) -> Decorator:
    """Apply several options so that `--help` lists them in the order given."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
