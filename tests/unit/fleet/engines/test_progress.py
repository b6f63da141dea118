from types import SimpleNamespace

import pytest

from poolkeeper.fleet.engines import progress


@pytest.mark.parametrize(
    ("done", "tasks", "spent_s", "line"),
    [
        pytest.param(0, 0, 3, "plan: 3 s", id="before-the-first-stage"),
        pytest.param(0, 40, 3, "plan: 0 of 40 tasks, 3 s", id="nobody-knows-yet"),
        pytest.param(10, 40, 30, "plan: 10 of 40 tasks, 30 s, about 1 min 30 s left", id="a-part"),
        pytest.param(40, 40, 120, "plan: 40 of 40 tasks, 2 min", id="all"),
    ],
)
def test_the_line(done, tasks, spent_s, line):
    assert progress.line("plan", done, tasks, spent_s) == line


def tracker(done: int, tasks: int) -> SimpleNamespace:
    """Spark's, of a group with job 1, which runs, and job 0, which has ended."""
    stage = SimpleNamespace(numCompletedTasks=done, numTasks=tasks)
    return SimpleNamespace(
        getActiveJobsIds=lambda: [1],
        getJobIdsForGroup=lambda group: [1, 0] if group == "ours" else [],
        getJobInfo=lambda job: SimpleNamespace(stageIds=(5,)),
        getStageInfo=lambda number: stage,
    )


def test_only_jobs_of_the_group_that_run_count():
    assert progress._counts(tracker(3, 8), "ours") == (3, 8)
    assert progress._counts(tracker(3, 8), "somebody else's") == (0, 0)


def test_nothing_is_told_where_there_is_no_terminal(capsys):
    groups = []
    context = SimpleNamespace(setJobGroup=lambda group, what: groups.append(what))
    with progress.describe_jobs(context, "plan 2026-03-01") as first:
        pass
    with progress.describe_jobs(context, "again") as second:
        pass
    assert (groups, capsys.readouterr().err) == (["plan 2026-03-01", "again"], "")
    assert first != second
