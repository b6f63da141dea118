"""`docs/conditions.md` explains every reason for which what is as declared is not Ready."""

from pathlib import Path

from poolkeeper.resources.status import health

PAGE = Path(__file__).parents[2] / "docs" / "conditions.md"


def test_the_page_has_the_reasons_in_their_order_of_kinds() -> None:
    first, _ = PAGE.read_text().split("## Other reasons")
    rows = [line.split("|") for line in first.splitlines() if line.startswith("| `")]
    told = {row[1].strip().strip("`"): row[3].strip() for row in rows}
    stalling = {reason.value: "Stalled" for reason in health.STALLING}
    assert told == stalling | {reason.value: "Reconciling" for reason in health.PASSING}
