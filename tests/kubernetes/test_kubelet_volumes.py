"""What the kubelet puts into volumes and when, and the addresses that it gives. No server."""

from pathlib import Path
from typing import Any

import pytest

from control_plane.kubelet import volumes
from control_plane.kubelet.addresses import Addresses
from control_plane.kubelet.environments import Missing
from control_plane.kubelet.volumes import File, Volumes
from poolkeeper import errors

Json = dict[str, Any]


def pod(*bodies: Json) -> Json:
    metadata = {"name": "p", "namespace": "ns"}
    return {"metadata": metadata, "spec": {"volumes": list(bodies)}}


def nothing(kind: str, namespace: str, name: str) -> None:
    return None


def no_token(audience: str, lifetime_s: int) -> str:
    raise AssertionError("nobody asked for a token")


def test_a_token_is_renewed_after_four_fifths_of_its_life(tmp_path: Path) -> None:
    source = {"serviceAccountToken": {"path": "token", "expirationSeconds": 1000}}
    body = pod({"name": "v", "projected": {"sources": [source]}})
    made: list[tuple[str, int]] = []
    time_s = 5.0

    def make(audience: str, lifetime_s: int) -> str:
        made.append((audience, lifetime_s))
        return f"token {len(made)}"

    mine = Volumes(body, tmp_path, nothing, make, lambda: time_s)
    seen = []
    for time_s in (5.0, 804.9, 805.0, 806.0):  # noqa: B007  # the clock reads it
        mine.fill(body)
        seen.append((mine.path("v") / "token").read_text())
    assert seen == ["token 1", "token 1", "token 2", "token 2"]
    assert made == [("", 1000), ("", 1000)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"secret": {"secretName": "s"}}, 'Secret "s" not found', id="secret"),
        pytest.param({"configMap": {"name": "c"}}, 'ConfigMap "c" not found', id="config-map"),
        pytest.param(
            {"hostPath": {"path": "/no/such"}}, "hostPath /no/such is not there", id="host"
        ),
        pytest.param({"nfs": {}}, "this kubelet knows no volume like v", id="unknown-kind"),
    ],
)
def test_what_a_volume_lacks_is_named(tmp_path: Path, body: Json, message: str) -> None:
    with pytest.raises(Missing, match=message):
        Volumes(pod({"name": "v", **body}), tmp_path, nothing, no_token).fill(pod())


def test_what_is_optional_and_absent_is_an_empty_folder(tmp_path: Path) -> None:
    body = pod({"name": "v", "secret": {"secretName": "s", "optional": True}})
    mine = Volumes(body, tmp_path, nothing, no_token)
    mine.fill(body)
    assert [each.name for each in mine.path("v").iterdir() if each.name[:2] != ".."] == []


SETTINGS = {"metadata": {"name": "settings"}, "data": {"A": "1"}, "binaryData": {"B": "Mg=="}}
LOGIN = {"metadata": {"name": "login"}, "data": {"password": "aHVudGVyMg=="}}


@pytest.mark.parametrize(
    ("kind", "found", "items", "expected"),
    [
        ("ConfigMap", SETTINGS, None, [("A", b"1", None), ("B", b"2", None)]),
        ("ConfigMap", SETTINGS, [{"key": "B", "path": "b", "mode": 7}], [("b", b"2", 7)]),
        ("Secret", LOGIN, None, [("password", b"hunter2", None)]),
    ],
    ids=["text-and-binary", "items-only", "secret"],
)
def test_entries(kind: str, found: Json, items: list[Json] | None, expected: list[Any]) -> None:
    assert list(volumes.entries(kind, found, items)) == expected


def test_a_key_that_is_not_there_is_named() -> None:
    with pytest.raises(Missing, match="Secret login has no key k"):
        list(volumes.entries("Secret", LOGIN, [{"key": "k", "path": "k"}]))


def test_two_kubelets_of_one_machine_give_different_addresses() -> None:
    one, two = Addresses(), Addresses()
    ours = [one.take() for _ in range(254)]
    theirs = [two.take() for _ in range(254)]
    assert len({*ours, *theirs}) == 508
    with pytest.raises(errors.Unavailable, match="all 254"):
        one.take()
    one.give_back(ours[7])
    assert one.take() == ours[7]
    one.close()
    two.close()


def test_a_published_volume_changes_at_once_and_only_if_it_must(tmp_path: Path) -> None:
    files = {"a": File(b"1", 0o600), "sub/b": File(b"2", 0o644), "gone": File(b"", 0o644)}
    volumes.publish(tmp_path, files, None)
    first = (tmp_path / "..data").resolve()
    volumes.publish(tmp_path, files, None)
    assert (tmp_path / "..data").resolve() == first
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    volumes.publish(tmp_path, {"a": File(b"3", 0o600), "sub/b": File(b"2", 0o644)}, None)
    assert not first.exists()
    visible = {path.name for path in tmp_path.iterdir() if not path.name.startswith("..")}
    assert visible == {"a", "sub"}
    assert [(tmp_path / name).read_bytes() for name in ("a", "sub/b")] == [b"3", b"2"]
