"""A run: the execution of one plan, recorded until its throttles are restored."""

from enum import StrEnum


class Ending(StrEnum):
    """Why a run winds up."""

    FINISHED = "finished"
    STOPPED = "stopped"
    REPLACED = "replaced"
