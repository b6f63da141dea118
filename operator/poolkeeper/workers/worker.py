"""The worker process of a `WorkerPool`: `python -m poolkeeper.workers.worker`.

Requests come on standard input, responses go to standard output, as `wire` packs them. A worker
yields to the process that works with it: it has lower priority and is the first to go when memory
is short. It ends as soon as its standard input is closed, in the midst of a plan as well, so that a
parent that is killed leaves none behind.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

from poolkeeper.planning.planner import Planner, make_plan
from poolkeeper.workers import wire
from poolkeeper.workers.wire import PlanningRequest

NICENESS = 5
OOM_SCORE = 500
"""Of at most 1000, where 0 is usual."""


def main(plan: Planner = make_plan) -> None:
    """Answer requests until standard input is closed."""
    requests = sys.stdin.buffer
    responses = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no response
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    _yield_to_parent()
    Thread(target=_end_with_parent, args=(requests.fileno(),), daemon=True).start()
    wire.write(responses, [wire.GREETING])
    gc.disable()  # all that it would look at is needed until the response is given
    while True:
        try:
            request = wire.unpack_request(wire.read(requests))
        except EOFError:
            return
        wire.write(responses, _response(request, plan))
        del request
        gc.collect()


def _response(request: PlanningRequest, plan: Planner) -> Iterator[bytes]:
    try:
        made = plan(request.desired, request.cluster, request.records, request.gone)
    except Exception as error:  # noqa: BLE001  it is raised again in the process that asked
        return wire.pack_error(error, traceback.format_exc())
    return wire.pack_plan(made)


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
