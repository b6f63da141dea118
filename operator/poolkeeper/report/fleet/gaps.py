"""What is missing in a fleet's report, as sentences that say what to do."""

from poolkeeper.report.values import Gap, Missing

_SENTENCES = {
    Gap.NO_SNAPSHOT: "it is declared and has no snapshot of that day: run poolkeeper fleet"
    " snapshot; if the cluster is gone, run poolkeeper fleet forget",
    Gap.OLD_SNAPSHOT: "its snapshot was read more than a day before that day, and its plan is made"
    " of that: see that a new one is made",
    Gap.NOT_READ: "it could not be read",
    Gap.NOT_READ_AGAIN: "it could not be read again, and its plan is made of the snapshot before"
    " that",
    Gap.NO_FEATURES: "it has no features of that day: run poolkeeper fleet features",
    Gap.NO_PLAN: "it has a snapshot and no plan, as planning was not begun or did not end:"
    " run poolkeeper fleet plan",
    Gap.NOT_PLANNED: "it could not be planned",
    Gap.OLD_PLAN: "its plan has no page",
    Gap.NO_BUDGET: "no budget was made for that day's plans: run poolkeeper fleet budget",
    Gap.NOT_SCHEDULED: "its plan, or what is declared of it, is newer than the budget:"
    " run poolkeeper fleet budget",
    Gap.NO_TIME: "the budget has no time for its plan, or for all of it",
    Gap.DAMAGED: "a table of it cannot be read",
}
NO_PLAN = frozenset((Gap.NO_SNAPSHOT, Gap.NOT_READ, Gap.NO_PLAN, Gap.NOT_PLANNED, Gap.DAMAGED))
"""The gaps of clusters without a plan; they are listed as such."""


def sentence(missing: Missing) -> str:
    """The gap in words, without the cluster's name."""
    told = _SENTENCES[missing.gap]
    return f"{told}: {missing.detail}" if missing.detail else told
