"""A pod's volumes as folders of this machine, and what is in them kept up to date.

Secrets, ConfigMaps and tokens are published as Kubernetes does it: the files lie in a folder of
their own, `..data` is a link to it, and every name is a link through `..data`; so all files of a
volume change at once, when that one link is replaced.

A token is renewed when four fifths of its life are over.
"""

import math
import os
import shutil
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from control_plane.kubelet.environments import Json, Missing, field

PUBLISHED = ("secret", "configMap", "projected")
MODE = 0o644
# Kind, namespace and name -> the object, None if there is none.
Lookup = Callable[[str, str, str], Json | None]
# Audience and lifetime in seconds -> a token of the pod's service account.
MakeToken = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class File:
    """One file of a published volume."""

    content: bytes
    mode: int


class Volumes:
    """The volumes of one pod, below `directory`; `clock` counts seconds."""

    def __init__(
        self,
        pod: Json,
        directory: Path,
        lookup: Lookup,
        make_token: MakeToken,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._lookup = lookup
        self._make_token = make_token
        self._clock = clock
        self._tokens: dict[tuple[str, int], tuple[str, float]] = {}
        self._bodies = {body["name"]: body for body in pod["spec"].get("volumes", ())}
        self._group = pod["spec"].get("securityContext", {}).get("fsGroup")

    def fill(self, pod: Json) -> None:
        """Make every volume what it should be by now. Raises Missing."""
        for name, body in self._bodies.items():
            path = self.path(name)
            if any(kind in body for kind in PUBLISHED):
                publish(path, dict(self._files(pod, body)), self._group)
            elif "emptyDir" in body:
                self._make_empty(path)
            elif "hostPath" not in body:
                raise Missing(f"this kubelet knows no volume like {name}")
            elif not path.exists():
                raise Missing(f"hostPath {path} is not there")

    def path(self, name: str) -> Path:
        """Return where a volume is."""
        body = self._bodies[name]
        return Path(body["hostPath"]["path"]) if "hostPath" in body else self._directory / name

    def writable(self, name: str) -> bool:
        """Say whether containers may write to this volume at all."""
        return not any(kind in self._bodies[name] for kind in PUBLISHED)

    def remove(self) -> None:
        """Remove the volumes; those of the machine stay."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _make_empty(self, path: Path) -> None:
        if path.exists():
            return
        path.mkdir(parents=True)
        if self._group is not None:
            os.chown(path, -1, self._group)
        path.chmod(0o777 if self._group is None else 0o2777)

    def _files(self, pod: Json, body: Json) -> Iterator[tuple[str, File]]:
        projected = body.get("projected")
        default = next(body[kind] for kind in PUBLISHED if kind in body).get("defaultMode", MODE)
        for source in projected["sources"] if projected else [body]:
            for path, content, mode in self._source(pod, source):
                yield path, File(content, default if mode is None else mode)

    def _source(self, pod: Json, source: Json) -> Iterator[tuple[str, bytes, int | None]]:
        match source:
            case {"secret": reference}:
                yield from self._entries("Secret", reference, pod)
            case {"configMap": reference}:
                yield from self._entries("ConfigMap", reference, pod)
            case {"downwardAPI": reference}:  # the namespace, beside every token
                for item in reference["items"]:
                    if "fieldRef" not in item:
                        raise Missing("this kubelet knows no item but of a fieldRef")
                    content = field(pod, item["fieldRef"]["fieldPath"]).encode()
                    yield item["path"], content, item.get("mode")
            case {"serviceAccountToken": reference}:
                yield reference["path"], self._token(reference).encode(), None
            case _:
                raise Missing(f"this kubelet knows no source {', '.join(source)}")

    def _entries(
        self, kind: str, reference: Json, pod: Json
    ) -> Iterator[tuple[str, bytes, int | None]]:
        """Yield what the ConfigMap or Secret holds; nothing if it is optional and absent."""
        name = reference.get("name") or reference.get("secretName", "")
        found = self._lookup(kind, pod["metadata"]["namespace"], name)
        if found is not None:
            yield from entries(kind, found, reference.get("items"))
        elif not reference.get("optional"):
            raise Missing(f'{kind} "{name}" not found')

    def _token(self, reference: Json) -> str:
        key = reference.get("audience", ""), int(reference.get("expirationSeconds", 3600))
        token, renewal = self._tokens.get(key, ("", -math.inf))
        if self._clock() >= renewal:
            token = self._make_token(*key)
            self._tokens[key] = token, self._clock() + 0.8 * key[1]
        return token


def entries(
    kind: str, found: Json, items: Sequence[Json] | None
) -> Iterator[tuple[str, bytes, int | None]]:
    """Yield path, content and mode of what a Secret or ConfigMap holds; only `items` if given.

    Raises Missing for an item whose key is not there.
    """
    texts = found.get("data") or {}
    encoded = found.get("binaryData") or {}
    if kind == "Secret":
        texts, encoded = {}, texts
    contents = {key: text.encode() for key, text in texts.items()}
    contents |= {key: b64decode(text) for key, text in encoded.items()}
    for item in items if items is not None else [{"key": key, "path": key} for key in contents]:
        if item["key"] not in contents:
            raise Missing(f"{kind} {found['metadata']['name']} has no key {item['key']}")
        yield item["path"], contents[item["key"]], item.get("mode")


def publish(directory: Path, files: Mapping[str, File], group: int | None) -> None:
    """Make `files` the content of `directory`, all at once; do nothing if they are that already."""
    current = directory / "..data"
    if current.exists() and _published(current) == {name: f.content for name, f in files.items()}:
        return
    fresh = directory / f"..{time.time_ns()}"
    for name, file in files.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode if group is None else file.mode | 0o440)
        if group is not None:
            os.chown(path, -1, group)
    fresh.mkdir(parents=True, exist_ok=True)
    old = current.resolve() if current.exists() else None
    link = directory / "..data_new"
    link.symlink_to(fresh.name)
    link.replace(current)
    _link_names(directory, {name.split("/")[0] for name in files})
    if old:
        shutil.rmtree(old)


def _published(current: Path) -> dict[str, bytes]:
    files = (path for path in current.resolve().rglob("*") if path.is_file())
    return {str(path.relative_to(current.resolve())): path.read_bytes() for path in files}


def _link_names(directory: Path, names: set[str]) -> None:
    for path in directory.iterdir():
        if not path.name.startswith("..") and path.name not in names:
            path.unlink()
    for name in names:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")
