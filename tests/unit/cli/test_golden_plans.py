"""Whole plans as people and programs see them: `tests/golden/plans`, a folder per scenario.

`pytest --update-golden` writes what the command prints now; the difference is to be reviewed.
"""

import json
from pathlib import Path

import pytest

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
def test_plans_are_as_reviewed(case: str, output: str, update_golden: bool, run) -> None:
    folder = GOLDEN / case
    words = ["-f", str(folder / "manifests.yaml"), "--snapshot", str(folder / "snapshot.json")]
    code, out, _ = run("plan", *words, *WORDS.get(case, []), "--output", output)
    assert code == CODES.get(case, 2)
    golden = folder / ("plan.txt" if output == "text" else "plan.json")
    if update_golden:
        golden.write_text(out, encoding="utf-8")
    assert out == golden.read_text(encoding="utf-8")


def test_approvals_that_fit_nothing_or_come_too_early_are_told(tmp_path: Path, run) -> None:
    folder = GOLDEN / "drain"
    parts = json.loads((folder / "plan.json").read_text())["parts"]
    known, unknown = parts[1]["hash"], f"sha256:{'1' * 64}"
    text = (folder / "manifests.yaml").read_text()
    approval = f'  approval: {{plans: ["{known}", "{unknown}"]}}\n'
    (tmp_path / "all.yaml").write_text(text.replace("\nspec:\n", f"\nspec:\n{approval}", 1))
    code, _, err = run("plan", "-f", tmp_path, "--snapshot", folder / "snapshot.json")
    assert code == 2
    assert "part balance is approved and comes after drain: approve that, too" in err
    assert f"the approval of {unknown} fits no plan that waits" in err
    assert f"the approval of {known}" not in err
