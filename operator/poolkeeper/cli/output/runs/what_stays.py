"""What is left of a run when the command that executes it ends before it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from poolkeeper.cli.output import printing
from poolkeeper.errors import Fenced, HolderActive, PoolkeeperError

RUN_STAYS = (
    "moves in flight go on and throttles stay: `poolkeeper apply` resumes the run,"
    " `poolkeeper stop` and then `poolkeeper apply` ends it"
)

NO_RUN_STAYS = (
    "no run was under way, and what was written stays: Kafka ends what it was asked for, and"
    " `poolkeeper apply` plans what is left"
)


@contextmanager
def report_after_errors(in_mid_run: Callable[[], bool]) -> Iterator[None]:
    """Say what an error leaves of a run, if one is under way then.

    A lost standard output is one: nobody reads it any more, or its disk is full.
    """
    try:
        yield
    except (Fenced, HolderActive):
        raise  # it is another executor's, or the error tells what became of it
    except (PoolkeeperError, OSError):
        if in_mid_run():
            printing.warn([RUN_STAYS])
        raise
