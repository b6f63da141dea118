"""Tasks that take their process with them, once each; at executors and at Python workers.

    python -m fleet.killers worker|executor FOLDER fleet run …

The first attempt at a task of every kind ends its Python worker, or the executor that the worker
belongs to. FOLDER has a file for each that did.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from poolkeeper.cli import main
from poolkeeper.fleet.engines import spark
from poolkeeper.fleet.stages import plan as stages_plan
from poolkeeper.fleet.stages import snapshot as stages_snapshot
from poolkeeper.fleet.stages.features import load_features

KINDS: dict[str, tuple[Any, str]] = {
    "snapshot": (stages_snapshot, "perform"),
    "features": (load_features, "perform"),
    "read": (load_features, "read"),
    "figures": (load_features, "figures"),
    "gather": (load_features, "gather"),
    "plan": (stages_plan, "perform"),
    "rows": (spark, "_rows_of_attempts"),
}
"""By kind of task, the function that does it."""


def killed_once(*args: Any, kind: str, victim: str, folder: str, **more: Any) -> Any:
    """Do a task of that kind, unless this is the first attempt at any of them."""
    try:
        (Path(folder) / kind).touch(exist_ok=False)
    except FileExistsError:
        module, name = KINDS[kind]
        return getattr(module, name)(*args, **more)
    if victim == "executor":
        daemon = os.getppid()
        os.kill(_parent_of(daemon), signal.SIGKILL)
        signal.pause()  # until Spark's daemon notices
    os._exit(137)


def _parent_of(process: int) -> int:
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    return int(stat.rpartition(")")[2].split()[1])


def run(victim: str, folder: str, words: list[str]) -> int:
    """Run a command whose tasks do that."""
    for kind, (module, name) in KINDS.items():
        doing: Callable[..., Any] = partial(killed_once, kind=kind, victim=victim, folder=folder)
        setattr(module, name, doing)
    return main.main(words)


if __name__ == "__main__":
    from fleet import killers  # tasks name this module, and not the program

    sys.exit(killers.run(sys.argv[1], sys.argv[2], sys.argv[3:]))
