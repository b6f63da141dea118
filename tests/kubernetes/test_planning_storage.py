"""Answers of planning Jobs through an object store: a real API server, a real S3 server, no mount.

The operator (this process) and the Job's driver reach the store with the same settings, and with
keys that both have from a Secret. Every answer is one that is too long for ConfigMaps here.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conditions import until
from fleet.in_process import InProcess
from planned import QUICK, Planning, asked, crowded_clusters
from poolkeeper.errors import Unavailable
from poolkeeper.kube.jobs import jobs
from poolkeeper.rebalances.planning import task_runner
from poolkeeper.rebalances.planning.planning_jobs import job_name
from poolkeeper.rebalances.planning.request import PlanningDeadlines, RebalanceRequest
from s3_server import Bucket, s3, s3_server

__all__ = ["s3", "s3_server"]

pytestmark = [pytest.mark.fleet, pytest.mark.long]
NOW_MS = 1_790_000_000_000
DAY_S = 24 * 3600
KEYS = ("access.key", "secret.key")


@pytest.fixture(scope="module")
def planning(control_plane, kubelet) -> Planning:
    return Planning(control_plane, kubelet)


@pytest.fixture(scope="module")
def question() -> Iterator[RebalanceRequest]:
    with crowded_clusters(1) as found:
        some = tuple(asked(name, connect) for name, connect in found.items())
        yield RebalanceRequest(some, NOW_MS, patience=PlanningDeadlines(2.5, 60.0))


def settings_of(planning: Planning, s3: Bucket, folder: Path) -> Mapping[str, object]:
    """Settings of pods; the keys are in a Secret, which this process has as files."""
    told = s3.conf()
    keys = {name: value for name, value in told.items() if name.endswith(KEYS)}
    secret = {name.removeprefix("spark.hadoop."): value for name, value in keys.items()}
    name = f"store-{secrets.token_hex(4)}"
    planning.keep_secret(name, secret)
    planning.storage_settings = folder / name
    planning.storage_settings.mkdir()
    for key, value in secret.items():
        (planning.storage_settings / key).write_text(value)
    return {
        "conf": {**QUICK, **{n: v for n, v in told.items() if n not in keys}},
        "storage": s3.uri("plans"),
        "storage_secret": name,
        "storage_from_bytes": 1,
    }


def objects(s3: Bucket) -> list[str]:
    return sorted(
        str(file.relative_to(s3.folder)) for file in s3.folder.rglob("*") if file.is_file()
    )


def identity(planning: Planning) -> str:
    """What tells this cluster's objects from those of others that share the store."""
    path = f"/api/v1/namespaces/{planning.namespace}/configmaps"
    name = {"name": "poolkeeper-storage"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name}
    return planning.plane.request("POST", path, body)["metadata"]["uid"]


def test_an_answer_is_one_object_until_nobody_needs_it(planning, question, s3, tmp_path):
    place = f"plans/{planning.namespace}/{identity(planning)}"
    left, noted = s3.folder / place / f"x-answer/{'0' * 64}.gz", s3.folder / place / "notes"
    for old in (left, noted):
        with s3.files().open_output_stream(f"{s3.name}/{old.relative_to(s3.folder)}") as stream:
            stream.write(b"of a driver that was killed")
        os.utime(old, (old.stat().st_mtime - 2 * DAY_S,) * 2)
    expected = task_runner.write_response(question, InProcess()).text
    with planning.rebalance() as name:
        engine = planning.engine(**settings_of(planning, s3, tmp_path))
        assert planning.answer(engine, name, question).to_json() == expected
        answer = jobs.answer_name(job_name(name, question))
        (kept,) = (each for each in planning.left() if each.startswith(answer))
        path = f"/api/v1/namespaces/{planning.namespace}/configmaps/{kept}"
        body = planning.plane.request("GET", path)
        assert (kept, body.get("binaryData")) == (f"{answer}-0", None)
        digest = body["metadata"]["annotations"]["poolkeeper.dev/digest"]
        stored = f"{place}/{answer}/{digest.removeprefix('sha256:')}.gz"
        assert objects(s3) == [f"{place}/notes", stored], "what nobody needs was swept"
        s3.server.stop()
        try:
            with pytest.raises(Unavailable, match=f"^{s3.uri('plans')}/.*: cannot be listed: "):
                planning.engine(**settings_of(planning, s3, tmp_path)).request_plans(name, question)
        finally:
            s3.server.start()
        assert engine.request_plans(name, question).to_json() == expected
        engine.forget(name)
        until(lambda: objects(s3) == [f"{place}/notes"], "the object goes with the Job")
        until(lambda: not planning.left(), "everything of the Job is gone", 60)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("wrong_secret", "cannot be written: .*(ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH)"),
        ("wrong_bucket", "cannot be written: .*NO_SUCH_BUCKET"),
    ],
)
def test_what_is_wrong_with_the_store_is_told_before_anything_is_planned(
    changed, said, planning, question, s3, tmp_path
):
    wrong = getattr(s3, changed)()
    with planning.rebalance() as name:
        settings = settings_of(planning, wrong, tmp_path)
        engine = planning.engine(retries=0, **settings)
        with pytest.raises(Unavailable) as failed:
            planning.answer(engine, name, question)
        told = str(failed.value)
        assert told.startswith(f"planning failed: {wrong.uri('plans')}/{planning.namespace}/")
        assert failed.match(said)
        assert wrong.secret not in told
        until(lambda: not planning.left(), "what failed is gone", 60)


def test_a_secret_that_is_not_there(planning, question, s3, tmp_path):
    with planning.rebalance() as name:
        settings = {**settings_of(planning, s3, tmp_path), "storage_secret": "nobodys"}
        engine = planning.engine(retries=0, **settings)
        with pytest.raises(Unavailable, match=r"there is no Secret of the name in planner"):
            planning.answer(engine, name, question)
        until(lambda: not planning.left(), "what failed is gone", 60)
