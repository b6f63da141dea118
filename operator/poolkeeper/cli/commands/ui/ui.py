"""`poolkeeper ui`."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper import bounded_http
from poolkeeper.cli.commands.ui import live_pages
from poolkeeper.cli.input import bounded_files, interrupts, options
from poolkeeper.cli.input.files import fleet_files
from poolkeeper.cli.output import printing
from poolkeeper.errors import PoolkeeperError, Refused, wrong_file
from poolkeeper.temporary_folders import temporary_folder
from poolkeeper.text import count
from poolkeeper.ui.registry import FleetFiles, LivePages
from poolkeeper.ui.server import LiveServer

if TYPE_CHECKING:
    from poolkeeper.cli.commands.ui.kubernetes_clusters import KubernetesResources

CHECK_S = 0.5
LOOKS_FOR_CLUSTERS = 20
"""On Kubernetes it is looked every so many checks whether other clusters are declared."""
_WORDS = {"where": "CLUSTER", "folders": "-f", "watched": "--watch-namespace"}
TOKEN_MIN, TOKEN_MAX = 32, 4096
TOKEN_FILE_BYTES_MAX = 2**16
_TOKEN = re.compile(f"[A-Za-z0-9._~-]{{{TOKEN_MIN},{TOKEN_MAX}}}")
LISTEN = "0.0.0.0:8470"
DEADLINE_S = 10.0


@click.command(
    epilog="""\b
    Examples:
      poolkeeper ui -f manifests/
      poolkeeper ui main -f manifests/ --port 8470
      poolkeeper ui zk-1:2181,zk-2:2181/kafka
      poolkeeper ui -f manifests/ --out s3a://bucket/fleet
    """
)
@click.argument("where", metavar="[CLUSTER]", required=False)
@options.address_options
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="The port of 127.0.0.1 to serve on. [default: any that is free]",
)
@click.option(
    "--out",
    metavar="URI|FILE",
    help="Show the fleet's reports as well: the --out of `fleet report`, or one file of it.",
)
@click.option("--kubernetes", is_flag=True, help="Show the clusters of a Kubernetes, in a pod.")
@click.option(
    "--namespace", metavar="NS", help="With --kubernetes: of the Secrets. [default: the pod's]"
)
@click.option(
    "--watch-namespace",
    "watched",
    metavar="NS",
    multiple=True,
    help="With --kubernetes: only Topics of this namespace. Repeatable.",
)
@click.option(
    "--listen", metavar="HOST:PORT", help=f"With --kubernetes: where to listen. [default: {LISTEN}]"
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --kubernetes: holds the token that viewers need, 32 characters or more.",
)
@options.output()
def ui(
    where: str | None,
    port: int | None,
    out: str | None,
    kubernetes: bool,
    output: str,
    **given: Any,
) -> None:
    """Show clusters in a browser, live: the run, the pools, the plan, the history.

    CLUSTER as for `status`; without it all clusters of the manifests are shown.

    Prints one line, the address to open, and serves until Ctrl-C. Only this machine can reach it,
    and only with that address. It reads, and changes nothing: what approves a plan is shown as a
    line for a shell. While nobody looks at the pages, nothing is read.

    With --kubernetes it shows the KafkaClusters of the API server, by the pod's service account or
    KUBECONFIG, to whoever has the token of --token-file.
    """
    fleet = fleet_files.fleet_files(out) if out else None
    of_pod = {name: given.pop(name) for name in ("namespace", "watched", "listen", "token_file")}
    if kubernetes:
        _refuse(port=port, where=where, **given)
        _serve_others(of_pod, fleet, output)
        return
    _refuse_without_kubernetes(of_pod)
    address = options.address_of(where, **given)
    site = LivePages(live_pages.all_pages(address), fleet)
    with LiveServer.listening(port or 0, site) as server:
        if output == printing.JSON:
            printing.emit_json({"url": server.url})
        else:
            printing.emit(server.url)
        _until_ended(lambda: None)


def _until_ended(act: Callable[[], None]) -> None:
    """Wait for Ctrl-C; `act` is called now and then."""
    ended, checks = threading.Event(), 0
    with interrupts.raise_once() as check:
        while not ended.wait(CHECK_S):
            check()
            checks += 1
            if checks % LOOKS_FOR_CLUSTERS == 0:
                act()


def _serve_others(given: dict[str, Any], fleet: FleetFiles | None, output: str) -> None:
    """Serve what is declared on a Kubernetes; clusters that come or go change the pages."""
    from poolkeeper.cli.commands.ui.kubernetes_clusters import DeclaredOnKubernetes

    listen, token = given["listen"] or LISTEN, TokenFile.read(given["token_file"])
    bounded_http.parse_listen(listen)
    with _resources(given) as resources:
        shown = resources.names()

        def site() -> LivePages:
            declared = (DeclaredOnKubernetes(resources, name) for name in shown)
            return LivePages(
                tuple(live_pages.cluster_pages(each, each.name) for each in declared), fleet
            )

        with LiveServer.open_to_others(listen, site(), token.token) as server:
            host, number = server.address[:2]
            if output == printing.JSON:
                printing.emit_json({"host": host, "port": number})
            else:
                told = f"serving on {host}:{number}, with ?token= and what --token-file holds"
                printing.emit(told)

            def renew() -> None:
                nonlocal shown
                if token.is_another():
                    server.admit(token.token, site())
                try:
                    names = resources.names()
                except PoolkeeperError:
                    return  # the pages say so, which ask the same
                if names != shown:
                    shown = names
                    server.show(site())

            _until_ended(renew)


@contextmanager
def _resources(given: dict[str, Any]) -> Iterator["KubernetesResources"]:
    # Other commands do not import the client: tens of megabytes.
    from poolkeeper.cli.commands.ui.kubernetes_clusters import KubernetesResources
    from poolkeeper.kube.client.client import Api

    api = Api.connect(deadline_s=DEADLINE_S)
    namespace = given["namespace"] or os.environ.get("POD_NAMESPACE") or api.namespace
    if not namespace:
        raise Refused("the namespace of the Secrets is not known (expected --namespace)")
    try:
        with temporary_folder() as folder:
            yield KubernetesResources(api, namespace, given["watched"], folder)
    finally:
        api.close()


@dataclass(slots=True)
class TokenFile:
    """The token that a file holds; who changes a Secret expects that the one before is refused."""

    file: Path
    token: str
    _wrong: str = ""

    @classmethod
    def read(cls, file: Path | None) -> "TokenFile":
        """Read the token; raises Refused for one that could be guessed."""
        if file is None:
            raise click.UsageError("--kubernetes needs --token-file: others reach the server")
        return cls(file, _token(file))

    def is_another(self) -> bool:
        """Read it again, and return whether it has changed; one that is wrong is told of once."""
        before, wrong = self.token, ""
        try:
            self.token = _token(self.file)
        except PoolkeeperError as error:
            wrong = str(error)
            if wrong != self._wrong:
                printing.warn([f"{wrong}; the token before it counts on"])
        self._wrong = wrong
        return self.token != before


def _token(file: Path) -> str:
    token = bounded_files.read_text(file, TOKEN_FILE_BYTES_MAX).strip()
    if not _TOKEN.fullmatch(token):
        expected = f"{TOKEN_MIN} to {TOKEN_MAX} letters, digits, - . _ or ~"
        raise wrong_file(file, f"holds {count(len(token), 'character')} (expected {expected})")
    return token


def _refuse(**given: Any) -> None:
    """Raise a usage error for what says where clusters are."""
    given.pop("timeout_s")  # has a default
    if wrong := [name for name, value in given.items() if value not in (None, ())]:
        words = ", ".join(_WORDS.get(name, f"--{name.replace('_', '-')}") for name in wrong)
        raise click.UsageError(f"--kubernetes takes clusters from the API server: not {words}")


def _refuse_without_kubernetes(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value not in (None, ()):
            word = _WORDS.get(name, f"--{name.replace('_', '-')}")
            raise click.UsageError(f"{word} goes with --kubernetes")
