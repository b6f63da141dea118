"""Numbers that advance in steps, and words for them."""

import json
import shlex
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def _patched(line: str, plans: Sequence[str]) -> dict[str, object]:
    """What the spec says after somebody approved `MORE`, and then `WHO` ran the line."""
    words = shlex.split(line.replace("$(kubectl auth whoami", WHO + "$("))
    patch = json.loads(words[-1].replace("$( -o jsonpath={.status.userInfo.username})", ""))
    if "--type=merge" in words:
        return {**patch["spec"]["approval"]}
    approved, by = [*plans, MORE], {MORE: "tom"}
    for each in patch:
        assert each["op"] == "add"
        match each["path"].removeprefix("/spec/approval/").split("/"):
            case ["plans", "-"]:
                approved.append(each["value"])
            case ["by", hash_]:
                by[hash_] = each["value"]
    return {"plans": approved, "by": by}


@pytest.mark.parametrize("plans", [(), (OLD,)], ids=["first", "later"])
@pytest.mark.parametrize("named", [False, True])
def test_the_line_that_approves_keeps_what_was_approved_since_it_was_printed(
    plans: Sequence[str], named: bool
) -> None:
    line = wording.approval_line("main", NEW, len(plans), named=named)
    by = {MORE: "tom", **({NEW: WHO} if named else {})}
    assert _patched(line, plans) == {"plans": [*plans, MORE, NEW], "by": by}


@pytest.mark.parametrize("named", [False, True])
def test_the_line_that_approves_clears_away_very_many_old_approvals(named: bool) -> None:
    line = wording.approval_line("main", NEW, wording.APPROVED_MAX, named=named)
    by = {"by": {NEW: WHO}} if named else {}
    assert _patched(line, [OLD] * wording.APPROVED_MAX) == {"plans": [NEW], **by}
