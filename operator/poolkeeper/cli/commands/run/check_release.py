"""`poolkeeper check-release`: what the pod of `helm test` runs."""

import click

from poolkeeper.cli.output import printing
from poolkeeper.kube.client.client import Api


@click.command()
@click.option("--namespace", metavar="NS", required=True, help="Of the release.")
@click.option("--lease", metavar="NAME", required=True, help="By which its operators elect one.")
@click.option("--watch-namespace", "watched", metavar="NS", multiple=True, help="Of its Topics.")
def check_release(namespace: str, lease: str, watched: tuple[str, ...]) -> int:
    """Look at health, rights and the way to every ZooKeeper, and say which is wrong."""
    from poolkeeper.controller.release_check import DEADLINE_S, ReleaseCheck

    api = Api.connect(deadline_s=DEADLINE_S)
    wrong = 0
    for finding in ReleaseCheck(api, namespace, lease, watched).findings():
        printing.emit(str(finding))
        wrong += bool(finding.wrong)
    return 1 if wrong else 0
