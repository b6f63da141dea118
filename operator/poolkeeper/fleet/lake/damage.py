"""A file of the lake that cannot be read, and the command that makes it again.

Which one that is follows from the file's path: the folder of a table is named after it, and what
counts of a step is in the step's folder of `current`.
"""

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.steps import BUDGET, FEATURES, PLAN, REPORT, STEP_OF
from poolkeeper.fleet.storage import schemas


class DamagedFile(Refused):
    """A file of the lake that cannot be read: missing, cut off, or not what it should be.

    `path`: below the root. `why` may begin with it, and a colon: it is said once.
    """

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(f"{path} is damaged ({why.removeprefix(f'{path}: ')}): {_remedy(path)}")


def _remedy(path: str) -> str:
    """The command that makes the file again."""
    table, *folders = path.split("/")
    if table == schemas.MANIFESTS.name:
        return "`poolkeeper fleet snapshot -f DIR --out URI` writes it again"
    named = dict(folder.split("=", 1) for folder in folders if "=" in folder)
    step = STEP_OF.get(table, named.get("step", "run"))
    day = f" --day {named['day']}" if "day" in named else ""
    if step in (PLAN, FEATURES, BUDGET, REPORT):
        return f"`poolkeeper fleet {step} --out URI{day}` makes it again"
    # A ZooKeeper tells of today alone.
    return (
        f"`poolkeeper fleet {step} -f DIR --out URI{day}` makes it again, of a past day with"
        " `--snapshots URI`"
    )
