"""The commands that connect to nothing: words that are wrong, files and streams that are."""

import os
import stat
import subprocess
import sys

import pytest

from unit.cli.small_cluster import CLUSTER


@pytest.mark.parametrize("command", ["validate", "plan", "apply"])
def test_manifests_are_required(run, command):
    code, out, err = run(command)
    assert (code, out) == (1, "")
    assert err == (
        f"poolkeeper {command}: Missing option '-f' / '--filename'. "
        f"(see poolkeeper {command} --help)\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "no manifests to follow: give -f DIR, or --kubernetes", id="nothing"),
        pytest.param(
            ["--kubernetes", "-f", "x"],
            "--kubernetes takes manifests from the API server alone",
            id="both",
        ),
        pytest.param(
            ["-f", "x", "--watch-namespace", "shop"],
            "--watch-namespace goes with --kubernetes",
            id="options of the operator with a folder",
        ),
    ],
)
def test_run_follows_a_folder_or_the_api_server(run, words, message):
    expected = f"poolkeeper run: {message} (see poolkeeper run --help)\n"
    assert run("run", *words) == (1, "", expected)


@pytest.mark.parametrize("command", ["status", "stop", "snapshot --out x.json", "import --out x"])
def test_a_cluster_is_required(run, command):
    name = command.partition(" ")[0]
    assert run(*command.split()) == (
        1,
        "",
        f"poolkeeper {name}: no cluster is given: -f DIR [--cluster NAME], or --zookeeper "
        f"(see poolkeeper {name} --help)\n",
    )


@pytest.mark.parametrize("command", ["plan", "status", "stop", "apply"])
def test_a_zookeeper_that_is_absent_is_exit_code_3(run, manifests, command):
    code, out, err = run(command, "-f", manifests, "--timeout", "0.1")
    assert (code, out) == (3, "")
    assert len(err.splitlines()) == 1
    assert "127.0.0.1:1" in err


@pytest.mark.parametrize(
    "words", [("apply", "--plan", "p.json", "--prune"), ("show",), ("show", "a", "b", "c")]
)
def test_words_that_contradict_each_other(run, manifests, words):
    code, out, err = run(*words, "-f", manifests)
    assert (code, out, len(err.splitlines())) == (1, "", 1)


def test_a_paused_cluster_is_not_applied_to(run, manifests):
    (manifests / "cluster.yaml").write_text(CLUSTER + "  mode: Paused\n")
    code, out, err = run("apply", "-f", manifests)
    assert (code, out) == (1, "")
    assert err.startswith(
        "KafkaCluster main: spec.mode is Paused, in which nothing is applied (expec"
    )


def test_a_file_that_cannot_be_written_is_named(run, manifests, snapshot, tmp_path):
    locked = tmp_path / "locked"
    locked.write_text("a file, not a folder")
    out = locked / "plan.json"
    code, _, err = run("plan", "-f", manifests, "--snapshot", snapshot, "--out", out)
    assert (code, err) == (1, f"{out}: cannot be written (Not a directory)\n")
    assert stat.S_ISREG(locked.stat().st_mode)


@pytest.mark.parametrize("output", ["snapshot", "linked", "manifest", "new manifest"])
def test_nothing_is_written_over_what_is_read(run, manifests, snapshot, tmp_path, output):
    linked = tmp_path / "linked.json"
    linked.symlink_to(snapshot)
    manifest = next(iter(manifests.iterdir()))
    new = manifests / "plan.json"
    outs = {"snapshot": snapshot, "linked": linked, "manifest": manifest, "new manifest": new}
    out = outs[output]
    before = snapshot.read_bytes(), manifest.read_bytes()
    code, _, err = run("plan", "-f", manifests, "--snapshot", snapshot, "--out", out)
    assert (code, err.startswith(f"--out {out}: ")) == (1, True)
    assert (snapshot.read_bytes(), manifest.read_bytes()) == before
    assert not new.exists()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("apply -f {m} --plan {s} --yes --audit-log {s}", id="audit log, plan"),
        pytest.param("apply -f {m} --plan {s} --yes --audit-log {h}", id="audit log, hard link"),
        pytest.param("apply --audit-log {y} -f {m} --yes", id="audit log, manifest"),
        pytest.param("apply --audit-log {n} -f {m} --yes", id="audit log, new manifest"),
        pytest.param("apply -f {y} --audit-log {y} --yes", id="audit log, one manifest"),
        pytest.param("stop -f {m} --audit-log {y}", id="stop"),
        pytest.param("rollback -f {m} --audit-log {y}", id="rollback"),
        pytest.param("run -f {m} --audit-log {n}", id="run"),
        pytest.param("repair -f {m} --backup {y}", id="backup"),
        pytest.param("repair -f {m} --backup {o} --audit-log {o}", id="two outputs"),
        pytest.param("rehearse -f {m} --snapshot {w} --out {w}", id="rehearse, snapshot"),
        pytest.param("rehearse -f {m} --snapshot {s} --against {w} --out {w}", id="against"),
        pytest.param("whatif consumers --snapshot {w} --member c:t --out {w}", id="consumers"),
        pytest.param("snapshot -f {m} --client-config {s} --out {s}", id="client config"),
        pytest.param("fleet answer --question {s} --out {s}", id="question"),
    ],
)
def test_every_output_is_refused_where_something_is_read(run, manifests, snapshot, tmp_path, line):
    manifest = next(iter(manifests.iterdir()))
    page, linked = tmp_path / "page.html", tmp_path / "linked.json"
    page.write_bytes(snapshot.read_bytes())
    linked.hardlink_to(snapshot)
    names = {"m": manifests, "s": snapshot, "h": linked, "y": manifest, "w": page}
    names |= {"n": manifests / "new.json", "o": tmp_path / "o"}
    kept = {path: path.read_bytes() for path in (snapshot, manifest, page)}
    code, out, err = run(*line.format(**names).split())
    assert (code, out, len(err.splitlines()), err[:2]) == (1, "", 1, "--")
    assert "this file is read" in err or "as a manifest" in err or "written there as well" in err
    assert {path: path.read_bytes() for path in kept} == kept
    assert not names["n"].exists()
    assert not names["o"].exists()


@pytest.mark.parametrize("name", ["plan.txt", ".plans/plan.json"])
def test_what_is_no_manifest_may_lie_beside_the_manifests(run, manifests, snapshot, name):
    out = manifests / name
    out.parent.mkdir(exist_ok=True)
    for _ in range(2):
        assert run("plan", "-f", manifests, "--snapshot", snapshot, "--out", out)[0] != 1


def test_a_snapshot_is_not_written_over_manifests(run, manifests):
    manifest = next(iter(manifests.iterdir()))
    code, _, err = run("snapshot", "-f", manifests, "--out", manifest)
    said = f"--out {manifest}: -f reads this as a manifest (expected another place)\n"
    assert (code, err) == (1, said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("plan -f {0} --snapshot {1} >&-", 2, "", id="no-output"),
        pytest.param("plan -f {0} --snapshot {1} -o json >&- 2>&-", 2, "", id="no-streams"),
        pytest.param("validate -f {0}/nowhere 2>&-", 1, "", id="no-errors"),
        pytest.param(
            "whatif keys --partitions 2:4 --keys - <&-",
            1,
            "standard input is closed (expected a key a line)\n",
            id="no-input",
        ),
        pytest.param("whatif keys --partitions 2:4 >/dev/null", 0, "", id="latin-1"),
    ],
)
def test_streams_may_be_closed_or_lack_letters(manifests, snapshot, line, code, said):
    words = line.format(manifests, snapshot)
    ran = subprocess.run(
        ["bash", "-c", f"exec '{sys.executable}' -m poolkeeper {words}"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (code, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "--snapshot", "{snapshot}", "--out", "{long}"), "{long}: cannot be made"),
        (
            ("rehearse", "-f", "{manifests}", "--snapshot", "{snapshot}", "--against", "{long}"),
            "{long}: cannot be read",
        ),
        (("status", "-f", "{manifests}", "--client-config", "{config}"), "names no file"),
        (("apply", "-f", "{manifests}", "--plan", "{config}"), "{config}:1: is not JSON"),
        (("apply", "-f", "{manifests}", "--plan", "{long}"), "{long}: cannot be read"),
    ],
    ids=["out", "against", "tls", "a-plan-that-is-none", "plan"],
)
def test_a_path_that_cannot_be_looked_at_is_told(run, manifests, snapshot, tmp_path, words, said):
    long = tmp_path / ("x" * 300)
    config = tmp_path / "client.yaml"
    config.write_text(f"zookeeper: {{tls: {{ca: {long}}}}}\n")
    given = {"manifests": manifests, "snapshot": snapshot, "long": long, "config": config}
    code, _, err = run(*(word.format(**given) for word in words))
    assert (code, said.format(**given) in err) == (1, True), err
