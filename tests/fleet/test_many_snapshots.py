"""Several files or manifests of one cluster, and files of other days than today."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import clusters
from fleet import cases
from fleet.conftest import DAY, lake_at, where
from poolkeeper.cli.output.left_undone import EXIT_CODE
from poolkeeper.fleet.storage import schemas, snapshot_file
from poolkeeper.model import snapshots
from poolkeeper.text import moment

DAY_MS = 86_400_000
DAY_BEGIN_MS = cases.NOW_MS // DAY_MS * DAY_MS
DAYS = ("2026-02-26", "2026-02-27", "2026-02-28", cases.DAY)


def lines(told: str) -> dict[tuple[str, str], dict]:
    """The lines of clusters by step and name, of a command's JSON."""
    steps = json.loads(told)["steps"]
    return {(s["step"], c["cluster"]): c for s in steps for c in s.get("clusters", ())}


def copy_a_file(fleet: Path) -> str:
    west = fleet / "snapshots" / "west.json"
    snapshot_file.write(west.with_suffix(".parquet"), snapshots.read(west))
    return f"it has 2 snapshots of a day, {west} and {west.with_suffix('.parquet')}"


def put_a_file_of_the_day_beside_it(fleet: Path) -> str:
    west = fleet / "snapshots" / "west.json"
    other = west.parent / f"day={cases.DAY}" / "west.json"
    other.parent.mkdir()
    other.write_bytes(west.read_bytes())
    return f"it has 2 snapshots of a day, {other} and {west} (expected one)"


def copy_a_manifest(fleet: Path) -> str:
    folder = fleet / "manifests"
    documents = (folder / "all.yaml").read_text().split("---\n")
    own = [each for each in documents if "west" in each]
    assert len(own) == 2  # the cluster and its pool
    (folder / "west.yaml").write_text("---\n".join(own))
    line = 1 + "---\n".join(documents[: documents.index(own[0])]).count("\n") + 1
    return (
        f"KafkaCluster 'west' is declared at {folder}/all.yaml:{line} and {folder}/west.yaml:1"
        " (expected one place)"
    )


TWICE = [
    pytest.param(copy_a_file, id="two-files"),
    pytest.param(put_a_file_of_the_day_beside_it, id="two-files-of-a-day"),
    pytest.param(copy_a_manifest, id="two-manifests"),
]


@pytest.mark.parametrize("make", TWICE)
def test_a_cluster_with_two_is_a_row_that_names_both_and_the_others_go_on(
    make, fleet: Path, run
) -> None:
    reason = make(fleet)
    code, out, err = run("fleet", "run", *where(fleet), *DAY, "-o", "json")
    assert code == EXIT_CODE, err
    told = lines(out)
    assert told["plan", "east"]["status"] == "ok"
    assert told["snapshot", "west"]["status"] == told["plan", "west"]["status"] == "failed"
    assert reason in told["snapshot", "west"]["reason"]
    (missing,) = json.loads(out)["steps"][-1]["missing"]
    assert (missing["cluster"], missing["reason"]) == ("west", "NotRead")
    assert reason in missing["message"]


@pytest.mark.parametrize("make", TWICE)
def test_what_was_read_before_is_not_planned_for_a_cluster_declared_twice(
    make, fleet: Path, run
) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    reason = make(fleet)
    words = ("fleet", "plan", "-f", fleet / "manifests", "--out", fleet / "out", "-o", "json")
    told = lines(run(*words)[1])
    twice = make is copy_a_manifest
    assert told["plan", "west"]["status"] == ("failed" if twice else "ok")
    assert told["plan", "west"]["reason"] == (reason if twice else None)
    assert told["plan", "east"]["status"] == "ok"


def test_manifests_without_any_other_cluster_are_refused(fleet: Path, run) -> None:
    text = (fleet / "manifests" / "all.yaml").read_text()
    (fleet / "manifests" / "more.yaml").write_text(text)
    code, out, err = run("fleet", "run", *where(fleet), *DAY)
    assert (code, out) == (1, "")
    assert "KafkaCluster 'west' is declared twice" in err


def test_two_clusters_of_one_chroot_are_two(fleet: Path, run) -> None:
    """Their ensembles differ, or the names of their files: what is in the files counts nothing."""
    text = (fleet / "manifests" / "all.yaml").read_text()
    for number, name in enumerate(("east", "west")):
        text = text.replace(f"127.0.0.1:1/{name}", f"127.0.0.1:{number + 1}/kafka")
        file = fleet / "snapshots" / f"{name}.json"
        snapshots.write(file, replace(snapshots.read(file), name="kafka"))
    (fleet / "manifests" / "all.yaml").write_text(text)
    code, out, err = run("fleet", "run", *where(fleet), *DAY, "-o", "json")
    assert (code, err) == (0, "")
    told = lines(out)
    assert told["plan", "east"]["hash"] != told["plan", "west"]["hash"]
    lake = lake_at(fleet / "out")
    assert cases.kept(lake, "east").cluster == "east"


def test_files_count_at_their_own_time_and_fill_in_the_past(fleet: Path, run) -> None:
    """Sizes that grow by 1 GiB a day, put into the lake at once, are a history of four days."""
    folder = fleet / "snapshots"
    for name in ("east", "west"):
        (folder / f"{name}.json").unlink()
    for number, day in enumerate(DAYS):
        (folder / f"day={day}").mkdir()
        for seed, name in enumerate(("east", "west")):
            at_ms = DAY_BEGIN_MS + (number - len(DAYS) + 1) * DAY_MS + 3_600_000
            cluster = clusters.cluster(20, brokers=24, joined=2, seed=seed)
            topics = {
                topic.name: replace(
                    topic,
                    partitions=tuple(
                        p._replace(size_bytes=(10 + number) << 30) for p in topic.partitions
                    ),
                )
                for topic in cluster.topics.values()
            }
            made = replace(cluster, name=name, topics=topics, read_ms=at_ms)
            snapshots.write(folder / f"day={day}" / f"{name}.json.gz", made)
    (folder / f"day={DAYS[0]}" / "west.json.gz").unlink()  # it was not there yet
    words = (*where(fleet), "--history", "96h", "--step", "24h")
    code, out, err = run("fleet", "run", *words)
    assert (code, err) == (0, "")
    told = [line.partition(": ") for line in out.splitlines()]
    assert [line[0] for line in told[:4]] == [f"snapshot {day}" for day in DAYS]
    assert [line[2][:6] for line in told[:4]] == ["1 of 1", *["2 of 2"] * 3]
    assert told[4][0] == f"features {cases.DAY}"
    lake = lake_at(fleet / "out")
    found = cases.rows(lake, schemas.FEATURES, "east").to_pylist()
    assert {row["buckets"] for row in found} == {4}
    assert {row["growth_per_day"] for row in found} == {float(1 << 30)}
    assert {row["buckets"] for row in cases.rows(lake, schemas.FEATURES, "west").to_pylist()} == {3}
    (head,) = cases.rows(lake, schemas.CLUSTERS, "east", DAYS[0]).to_pylist()
    assert moment(head["read_ms"]) == f"{DAYS[0]}T01:00:00Z"
    code, out, _ = run("fleet", "features", "--out", fleet / "out", "--day", DAYS[2], *words[-4:])
    assert code == 0
    past = cases.rows(lake, schemas.FEATURES, "east", DAYS[2]).to_pylist()
    assert {(row["buckets"], row["last"]) for row in past} == {(3, float(12 << 30))}


def test_a_file_without_a_time_was_read_on_the_day_that_it_is_put_into(fleet: Path, run) -> None:
    assert run("fleet", "snapshot", *where(fleet), *DAY)[0] == 0
    (head,) = cases.rows(lake_at(fleet / "out"), schemas.CLUSTERS, "east").to_pylist()
    assert head["read_ms"] == DAY_BEGIN_MS + DAY_MS - 1


def test_a_file_that_was_read_after_its_day_is_a_row_with_the_reason(fleet: Path, run) -> None:
    file = fleet / "snapshots" / "east.json"
    snapshots.write(file, replace(snapshots.read(file), read_ms=DAY_BEGIN_MS + DAY_MS))
    code, _, err = run("fleet", "snapshot", *where(fleet), *DAY)
    assert code == EXIT_CODE
    assert (
        f"warning: snapshot east: {file}: was read at 2026-03-02T00:00:00Z, after the day"
        " that it is put into (expected another --day)\n"
    ) == err


def test_files_of_another_day_than_the_one_that_is_asked_for(fleet: Path, run) -> None:
    (fleet / "snapshots").rename(fleet / f"day={cases.DAY}")
    words = ("-f", fleet / "manifests", "--snapshots", fleet, "--out", fleet / "out")
    code, _, err = run("fleet", "snapshot", *words, "--day", "2026-03-02")
    assert (code, err) == (1, f"{fleet}: holds no snapshots of 2026-03-02\n")
    assert run("fleet", "snapshot", *words)[1].startswith(f"snapshot {cases.DAY}: 2 of 2 clusters")
