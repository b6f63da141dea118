"""The worker process of `planners`: `python -m poolkeeper.workers`.

Questions come on standard input, answers go to standard output, in `parcels`. A worker yields to
the process that works with it: it has lower priority and is the first to go when memory is short.
It ends as soon as its standard input is closed, in the midst of a plan as well, so that a parent
that is killed leaves none behind.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

from poolkeeper import parcels
from poolkeeper.model.plans import Plan
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.parcels import Question
from poolkeeper.planning.making import make_plan

Planner = Callable[[Desired, Cluster, Records, frozenset[int]], Plan]
NICENESS = 5
OOM_SCORE = 500
"""Of at most 1000, where 0 is usual."""


def main(plan: Planner = make_plan) -> None:
    """Answer questions until standard input is closed."""
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    _yield_to_parent()
    Thread(target=_end_with_parent, args=(questions.fileno(),), daemon=True).start()
    parcels.write(answers, [parcels.GREETING])
    gc.disable()  # all that it would look at is needed until the answer is given
    while True:
        try:
            question = parcels.unpacked_question(parcels.read(questions))
        except EOFError:
            return
        parcels.write(answers, _answer(question, plan))
        del question
        gc.collect()


def _answer(question: Question, plan: Planner) -> Iterator[bytes]:
    try:
        made = plan(question.desired, question.cluster, question.records, question.gone)
    except Exception as error:  # noqa: BLE001  it is raised again in the process that asked
        return parcels.packed_error(error, traceback.format_exc())
    return parcels.packed_plan(made)


def _yield_to_parent() -> None:
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # there is no such file but on Linux
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))


def _end_with_parent(descriptor: int) -> None:
    """Wait for the parent's end of the pipe to be closed, reading nothing, and end at once."""
    ended = select.poll()
    ended.register(descriptor, 0)
    ended.poll()
    os._exit(0)


if __name__ == "__main__":
    main()
