"""Numbers that advance in steps, and words for them."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.specs import Approval
from poolkeeper.resources.status import wording


@given(st.integers(-5, 2000), st.integers(0, 1500), st.integers(1, 60))
def test_steps_are_few_never_too_much_and_end_exactly(done: int, total: int, steps: int) -> None:
    found = wording.coarse(done, total, steps)
    assert 0 <= found <= max(0, min(done, total))
    if done >= total:
        assert found == total
    taken = {wording.coarse(each, total, steps) for each in range(total + 1)}
    assert len(taken) <= steps + 1


@given(st.floats(0, 10**7), st.floats(0, 10**7))
def test_coarse_durations_are_never_shorter_and_keep_their_order(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert low <= wording.coarse_seconds(low) <= wording.coarse_seconds(high)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "about 10 s"),
        (41, "about 50 s"),
        (95, "about 2 min"),
        (700, "about 15 min"),
        (4000, "about 1 h 30 min"),
        (30_000, "about 9 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert wording.about(wording.coarse_seconds(seconds)) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (994, "990 B"),
        (1536, "1.5 KiB"),
        (40 * 1024**3, "40 GiB"),
        (123 * 1024**3, "120 GiB"),
        (1000 * 1024**3, "1 TiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert wording.size(size) == text


def test_a_few_of_many() -> None:
    assert wording.few(["a", "b"], 2) == "a, b"
    assert wording.few(["a", "b", "c"], 2) == "a, b and 1 more"


OLD, MORE, NEW = ("sha256:" + digit * 64 for digit in "123")
WHO = "jane"


def _patched(approval: Approval, line: str) -> dict[str, object]:
    """What the spec says after somebody approved `MORE`, and then `WHO` ran the line."""
    words = shlex.split(line.replace("$(kubectl auth whoami", WHO + "$("))
    patch = json.loads(words[-1].replace("$( -o jsonpath={.status.userInfo.username})", ""))
    found = {"plans": [*approval.plans, MORE], "by": {**approval.by}}
    if "--type=merge" in words:
        given = patch["spec"]["approval"]
        return {"plans": given["plans"], "by": found["by"] | given.get("by", {})}
    for each in patch:
        assert each["op"] == "add"
        match each["path"].removeprefix("/spec/approval/").split("/"):
            case ["plans", "-"]:
                found["plans"].append(each["value"])
            case ["by"]:
                found["by"] = each["value"]
            case ["by", hash_]:
                found["by"][hash_] = each["value"]
    return found


@pytest.mark.parametrize(
    ("approval", "named", "plans", "by"),
    [
        pytest.param(Approval(), False, [NEW], {}, id="nothing-was-approved"),
        pytest.param(Approval(), True, [NEW], {NEW: WHO}, id="nothing-and-named"),
        pytest.param(Approval(plans=(OLD,)), False, [OLD, MORE, NEW], {}, id="beside"),
        pytest.param(
            Approval(plans=(OLD,)), True, [OLD, MORE, NEW], {NEW: WHO}, id="beside-the-unnamed"
        ),
        pytest.param(
            Approval(plans=(OLD,), by={OLD: "tom"}),
            True,
            [OLD, MORE, NEW],
            {OLD: "tom", NEW: WHO},
            id="beside-the-named",
        ),
        pytest.param(
            Approval(plans=(OLD,) * wording.APPROVED_MAX), False, [NEW], {}, id="old-ones-are-many"
        ),
    ],
)
def test_the_line_that_approves_keeps_what_was_approved_since_it_was_printed(
    approval: Approval, named: bool, plans: list[str], by: dict[str, str]
) -> None:
    line = wording.approval_line("main", NEW, approval, named=named)
    assert _patched(approval, line) == {"plans": plans, "by": by}
