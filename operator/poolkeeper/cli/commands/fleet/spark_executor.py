"""`poolkeeper executor`: what Spark's executor pods run; not for people."""

import os

import click

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines import executor as engines_executor


@click.command(hidden=True)
def executor() -> None:
    """Be an executor of Spark, in a pod that Spark made."""
    words = engines_executor.command(os.environ, engines_executor.spark_folder())
    try:
        # Replace this process, so that the JVM gets the pod's signals.
        os.execvp(words[0], words)
    except OSError as failed:
        raise Refused(f"{words[0]} cannot be started: {failed.strerror}") from failed
