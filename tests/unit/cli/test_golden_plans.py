"""Whole plans as people and programs see them: `tests/golden/plans`, a folder per scenario.

`pytest --update-golden` writes what the command prints now; the difference is to be reviewed.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from poolkeeper.cli.commands.plan import plan

GOLDEN = Path(__file__).parents[2] / "golden" / "plans"
WORDS = {
    "without-a-rack": ["--without", "3", "--without", "6"],
    "with-a-broker": ["--with-broker", "4:a"],
}
CODES = {"settled": 0, "too-few-brokers": 4}
"""Exit codes; 2 for all others, which have changes."""
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def test_every_case_with_words_is_there() -> None:
    assert WORDS.keys() | CODES.keys() <= set(CASES)


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("case", CASES)
def test_plans_are_as_reviewed(case: str, output: str, update_golden: bool) -> None:
    folder = GOLDEN / case
    words = ["-f", str(folder / "manifests.yaml"), "--snapshot", str(folder / "snapshot.json")]
    ran = CliRunner().invoke(
        plan, [*words, *WORDS.get(case, []), "--output", output], standalone_mode=False
    )
    assert ran.exception is None, ran.exception
    assert ran.return_value == CODES.get(case, 2)
    golden = folder / ("plan.txt" if output == "text" else "plan.json")
    if update_golden:
        golden.write_text(ran.stdout, encoding="utf-8")
    assert ran.stdout == golden.read_text(encoding="utf-8")
