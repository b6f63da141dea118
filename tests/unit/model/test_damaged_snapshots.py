"""Whatever is wrong with a snapshot, reading it gives the cluster or an error that says where.

What is read can be written, and read back.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import damaged_snapshots
from damaged_snapshots import GOOD, VALUES, Damage, Place
from laws import examples
from poolkeeper.errors import InvalidInput, PoolkeeperError, Refused
from poolkeeper.model import snapshots
from poolkeeper.model.snapshots import snapshot_json
from poolkeeper.model.topology import Broker, Cluster

FILE = "/snapshots/main.json"
TELLING = (
    "null",
    "minus one",
    "one and a half",
    "65 bits",
    "5000 digits",
    "not a number",
    "half a character",
    "an empty list",
    "an object with half a character",
    "a list, deep enough",
    "a list, deep",
)
MESSAGE_MAX = 100 * 300


def unlike(damages: Iterable[Damage]) -> Iterator[str]:
    """Those that are neither read nor refused as promised."""
    for damage in damages:
        try:
            cluster = snapshots.decode(damage.text, FILE)
            text = json.dumps(snapshots.to_json(cluster), ensure_ascii=False).encode()
            if snapshots.decode(text, FILE) != cluster:
                yield f"{damage.id}: another cluster when written and read"
        except InvalidInput as refused:
            yield from (f"{damage.id}: {why}" for why in _unlike_message(refused))
        except Exception as error:  # noqa: BLE001  that is what is looked for
            yield f"{damage.id}: raises {error!r:.200}"


def _unlike_message(refused: PoolkeeperError) -> Iterator[str]:
    message = str(refused)
    lines = message.splitlines()
    if not all(line.startswith(f"{FILE}: ") or line.startswith(f"{FILE}:") for line in lines):
        yield f"does not name the file: {message[:100]!a}"
    if not message.isprintable() and not "".join(lines).isprintable():
        yield f"cannot be printed: {message[:100]!a}"
    if len(message) > MESSAGE_MAX:
        yield f"says {len(message)} characters"


def test_the_good_one_is_read() -> None:
    cluster = snapshots.from_json(GOOD)
    assert snapshots.from_json(json.loads(json.dumps(snapshots.to_json(cluster)))) == cluster
    assert sorted(cluster.brokers) == [1, 2, 3]


@pytest.mark.slow
def test_damage_at_every_place() -> None:
    assert list(unlike(damaged_snapshots.changed(*TELLING))) == []


@examples(60)
@given(st.sampled_from([*damaged_snapshots.places(GOOD)]), st.sampled_from([*VALUES]))
def test_damage_of_every_kind(place: Place, name: str) -> None:
    assert list(unlike([damaged_snapshots.changed_at(place, name)])) == []


@pytest.mark.slow
def test_fields_that_are_missing_misnamed_or_there_twice() -> None:
    assert list(unlike(damaged_snapshots.torn())) == []


def test_files_that_are_no_snapshot() -> None:
    assert list(unlike(damaged_snapshots.broken())) == []


@pytest.mark.parametrize("damage", [*damaged_snapshots.compressed()], ids=lambda each: each.id)
def test_compressed_files_that_are_not_whole(damage: Damage, tmp_path: Path) -> None:
    file = tmp_path / "main.json.gz"
    file.write_bytes(damage.text)
    with pytest.raises(InvalidInput, match=r"main\.json\.gz:"):
        snapshots.read(file)


def test_what_is_too_large_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_json, "BYTES_MAX", 1000)
    (bomb,) = (each for each in damaged_snapshots.compressed() if each.id == "a bomb")
    for name, body in (("main.json.gz", bomb.text), ("main.json", b" " * 1001)):
        file = tmp_path / name
        file.write_bytes(body)
        with pytest.raises(InvalidInput, match=f"{name}: has more than 1000 B"):
            snapshots.read(file)


@pytest.mark.parametrize("name", ["main.json", "main.json.gz"])
def test_a_folder_that_is_named_like_a_snapshot(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(Refused, match=f"{name}: cannot be read: Is a directory"):
        snapshots.read(tmp_path / name)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("rack", "\ud800", id="half-a-character"),
        pytest.param("config", {"a\udfff": "b"}, id="half-a-character-in-a-key"),
    ],
)
def test_what_no_file_could_hold_is_not_written(field: str, value: object, tmp_path: Path) -> None:
    broker = Broker(1, **{"rack": None, "endpoints": (), field: value})
    with pytest.raises(Refused, match=r"main\.json: cannot be written: .*surrogates not allowed"):
        snapshots.write(tmp_path / "main.json", Cluster("main", {1: broker}, {}))
    assert not (tmp_path / "main.json").exists()
