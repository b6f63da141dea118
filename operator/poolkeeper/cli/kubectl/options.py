"""The options of every command of `kubectl poolkeeper`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from poolkeeper.cli.kubectl.access import UserAccess

Function = Callable[..., Any]

cluster_option = click.option(
    "-c", "--cluster", default="", metavar="NAME", help="The KafkaCluster. [default: the only one]"
)


def by_user(function: Function) -> Function:
    """Add --kubeconfig, --context and -n; the command gets `access`."""

    @click.option(
        "--kubeconfig",
        metavar="FILE",
        help="How the API server is reached. [default: KUBECONFIG, or ~/.kube/config]",
    )
    @click.option("--context", metavar="NAME", help="Of the kubeconfig. [default: its current one]")
    @click.option(
        "-n", "--namespace", default="", metavar="NS", help="Of Topics. [default: the context's]"
    )
    @wraps(function)
    def with_access(
        kubeconfig: str | None, context: str | None, namespace: str, **given: Any
    ) -> Any:
        return function(access=UserAccess(kubeconfig, context, namespace), **given)

    return with_access
