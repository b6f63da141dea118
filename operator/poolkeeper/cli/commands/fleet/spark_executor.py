"""`poolkeeper executor` and `driver`: what the pods run that Spark makes; not for people."""

import os
import sys

import click

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines import executor as engines_executor


@click.command(hidden=True)
def executor() -> None:
    """Be an executor of Spark, in a pod that Spark made."""
    _become(engines_executor.command(os.environ, engines_executor.spark_folder()))


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def driver(words: tuple[str, ...]) -> None:
    """Be a driver of Spark, in a pod that `spark-submit` made."""
    spark = engines_executor.spark_folder()
    os.environ.setdefault("SPARK_HOME", str(spark))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    _become(engines_executor.driver_command(os.environ, spark, words))


def _become(words: list[str]) -> None:
    try:
        # Replace this process, so that the JVM gets the pod's signals.
        os.execvp(words[0], words)
    except OSError as failed:
        raise Refused(f"{words[0]} cannot be started: {failed.strerror}") from failed
