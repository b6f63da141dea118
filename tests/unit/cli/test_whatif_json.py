"""`docs/whatif.md` has every key of what the studies write as JSON, and no others."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolkeeper.algorithms.groups import ListedMember
from poolkeeper.cli import main
from poolkeeper.cli.output.studies import loss_text

ROOT = Path(__file__).parents[3]
TYPED = {
    "lose": "--snapshot cluster.json --rack a --group search",
    "keys": "-f manifests --snapshot cluster.json --keys keys.txt",
    "consumers": "--topic t:2 --member a:t --member b:t --leave a",
}
BY_NAME = {"assignment", "rounds", "loadsBefore", "loadsMeanwhile", "loads", "loadChanges"}
"""Values whose keys are names of members."""


def keys(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from keys(each)
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            if key not in BY_NAME and not (key == "topics" and isinstance(each, dict)):
                yield from keys(each)


def table(study: str) -> str:
    page = (ROOT / "docs" / "whatif.md").read_text()
    (found,) = re.findall(rf"^### `whatif {study}`\n(.*?)(?=^### |\Z)", page, re.DOTALL | re.M)
    return str(found)


@pytest.mark.parametrize("study", TYPED)
def test_the_page_has_every_key_and_no_other(
    study: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples" / "whatif")
    words = ["whatif", study, *shlex.split(TYPED[study]), "--output", "json"]
    assert main.main(words) == 0
    written = set(keys(json.loads(capsys.readouterr().out)))
    if study == "lose":
        written |= set(keys(loss_text._member_data(ListedMember("m", "c", "h"))))
    told = re.findall(r"`([A-Za-z]+)`", table(study))
    assert written - set(told) == set()
    values = {"kept", "elected", "unclean", "offline", "moved", "none", "start", "null"}
    values |= {"pipelined", "bytesPerSecond", "partitions"}
    assert set(told) - written - values == set()
