"""URIs, and how Arrow opens them: with the credentials and the endpoint that Spark was given.

Executors open a cluster's part of a table themselves. They have no session, so the driver
translates its settings into a `Storage`, which travels with the task. Settings are secret: nothing
of them is ever printed.
"""

import os
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyarrow import fs

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.s3_file import s3_file
from poolkeeper.frozen import frozen
from poolkeeper.text import first_line

FILE = "file"
S3_SCHEMES = ("s3a", "s3", "s3n")
_S3A = "fs.s3a."
_KEPT = (
    "fs.s3a.access.key",
    "fs.s3a.secret.key",
    "fs.s3a.session.token",
    "fs.s3a.endpoint",
    "fs.s3a.endpoint.region",
    "fs.s3a.path.style.access",
    "fs.s3a.connection.ssl.enabled",
    "fs.s3a.aws.credentials.provider",
    "fs.s3a.connection.timeout",
    "fs.s3a.attempts.maximum",
)
_AZURE_KEY = "fs.azure.account.key"
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Where the environment names a store of S3 that is not Amazon's, the first that is set."""
TIMEOUT_S = 30.0
ATTEMPTS = 5
"""How often a request is tried, as Hadoop's client has it; Arrow's own is three times."""


@frozen
class Storage:
    """Settings of Hadoop's file systems that Arrow's need as well; they are never shown."""

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, hadoop: Mapping[str, str]) -> "Storage":
        """The settings of Hadoop that concern storage."""
        kept = {
            name: value
            for name, value in hadoop.items()
            if value and (name in _KEPT or _of_bucket(name) or name.startswith(_AZURE_KEY))
        }
        return cls(tuple(sorted(kept.items())))


def _of_bucket(name: str) -> bool:
    return name.startswith("fs.s3a.bucket.") and any(name.endswith(k[len(_S3A) :]) for k in _KEPT)


def root_of(where: str | Path) -> str:
    """A folder or URI as a URI, without a slash at its end, and as Hadoop names its paths.

    Hadoop takes `//`, `.` and `..` out of a path. Arrow looks for an object of just that name, and
    on this machine follows links before `..`. So none of them stays in a root.

    Raises `Refused` for an empty one, for a scheme that tasks cannot open, and for what is neither
    a folder nor a whole URI: a slip such as `s3a:bucket` must not become a folder of that name.
    """
    text = str(where)
    if not text.strip():
        raise Refused("the place of tables is empty (expected a folder or a URI)")
    scheme, separator, rest = text.partition(":")
    if scheme == FILE and separator:
        return _local_root(text, rest)
    if rest.startswith("//"):
        if scheme not in _OPENERS:
            raise _unknown(text, scheme)
        bucket = rest[2:].partition("/")[0]
        if scheme != "hdfs" and (not bucket or any(map(str.isspace, bucket))):
            raise Refused(f"{text}: names no bucket (expected {scheme}://BUCKET/FOLDER)")
        return f"{scheme}://{_without_dots(rest[2:])}"
    if separator and scheme in _OPENERS:
        raise Refused(f"{text}: is no whole URI (expected {scheme}://BUCKET/FOLDER)")
    return _folder_root(Path(text))


def _local_root(text: str, rest: str) -> str:
    """The root of a URI such as `file:/a` or `file:///a`."""
    host, _, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest[1:])
    if not rest.startswith("/") or host not in ("", "localhost"):
        raise Refused(f"{text}: names no folder of this machine (expected {FILE}:///FOLDER)")
    return _folder_root(Path(f"/{path.lstrip('/')}"))


def _folder_root(folder: Path) -> str:
    """The root of a folder; links are followed where the path goes up again."""
    path = folder.absolute()
    found = os.path.realpath(path) if ".." in path.parts else str(path)
    if not found.strip("/"):
        raise Refused(f"{folder}: is the root of the file system (expected a folder below it)")
    return f"{FILE}://{found}".rstrip("/")


def _without_dots(place: str) -> str:
    """A bucket or host and its path without `//`, `.` and `..`; none leads out of the bucket."""
    bucket, separator, path = place.partition("/")
    return bucket + posixpath.normpath(f"/{path.lstrip('/')}").rstrip("/") if separator else bucket


def scheme_of(uri: str) -> str:
    """The scheme of a URI that `root_of` made."""
    return uri.partition("://")[0]


def local_path(uri: str) -> Path | None:
    """The path on this machine, or None where the URI is elsewhere."""
    return Path(uri.removeprefix("file://")) if scheme_of(uri) == FILE else None


def place_of(uri: str) -> str:
    """The place as people name it: a path on this machine, or the URI where it is elsewhere."""
    return str(local_path(uri) or uri)


@lru_cache(maxsize=16)
def open_filesystem(root: str, storage: Storage) -> tuple[Any, str]:
    """Arrow's file system for that URI, and the folder in it.

    Raises `Refused` for a scheme that Arrow does not know.
    """
    scheme, rest = scheme_of(root), root.partition("://")[2]
    opener = _OPENERS.get(scheme)
    if opener is None:
        raise _unknown(root, scheme)
    try:
        return opener(rest, dict(storage.settings))
    except (ImportError, OSError, ValueError, NotImplementedError) as failed:
        raise Refused(f"{root}: tasks cannot open {scheme}: {first_line(failed)}") from failed


def open_file(files: Any, place: str) -> Any:
    """A file of one of Arrow's file systems, opened; raises as that does where it cannot be.

    Raises `IsADirectoryError` for a folder of this machine, and for a pipe, a socket or a device:
    whoever opens a pipe waits for ever.
    """
    if isinstance(files, fs.LocalFileSystem):
        path = Path(place)
        if path.exists() and not path.is_file():
            raise IsADirectoryError("it is no regular file")
    opened = files.open_input_file(place)
    return s3_file(opened) if isinstance(files, fs.S3FileSystem) else opened


def _unknown(uri: str, scheme: str) -> Refused:
    known = ", ".join(_OPENERS)
    return Refused(f"{uri}: tasks cannot open {scheme}: (expected one of {known})")


def _file(rest: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    return fs.LocalFileSystem(), rest


def _s3(rest: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    bucket = rest.partition("/")[0]

    def setting(name: str) -> str | None:
        return settings.get(f"fs.s3a.bucket.{bucket}.{name}", settings.get(f"fs.s3a.{name}"))

    options: dict[str, Any] = {
        "connect_timeout": TIMEOUT_S,
        "request_timeout": TIMEOUT_S,
        "region": setting("endpoint.region") or None,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(
            max_attempts=int(setting("attempts.maximum") or ATTEMPTS)
        ),
    }
    endpoint = setting("endpoint")
    by_path = setting("path.style.access") == "true"
    if not endpoint:
        # Arrow does not look there. Few other stores have a host name for each bucket.
        named = (os.environ.get(name) for name in _ENDPOINT_VARIABLES)
        endpoint, by_path = next(filter(None, named), None), True
    if endpoint:
        scheme, separator, address = endpoint.rstrip("/").rpartition("://")
        plain = setting("connection.ssl.enabled") == "false"
        options["scheme"] = scheme if separator else ("http" if plain else "https")
        options["endpoint_override"] = address
        options["force_virtual_addressing"] = not by_path
    if setting("access.key"):
        options["access_key"] = setting("access.key")
        options["secret_key"] = setting("secret.key")
        options["session_token"] = setting("session.token")
    elif "Anonymous" in (setting("aws.credentials.provider") or ""):
        options["anonymous"] = True
    return fs.S3FileSystem(**options), rest


def _hdfs(rest: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    address, _, path = rest.partition("/")
    host, _, port = address.partition(":")
    return fs.HadoopFileSystem(host or "default", int(port or 0)), f"/{path}"


def _gcs(rest: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    return fs.GcsFileSystem(), rest


def _azure(rest: str, settings: Mapping[str, str]) -> tuple[Any, str]:
    place, _, path = rest.partition("/")
    container, _, host = place.partition("@")
    account = host.partition(".")[0]
    key = settings.get(f"{_AZURE_KEY}.{host}", settings.get(_AZURE_KEY))
    return fs.AzureFileSystem(account, account_key=key), f"{container}/{path}"


_OPENERS: Mapping[str, Callable[[str, Mapping[str, str]], tuple[Any, str]]] = {
    FILE: _file,
    **dict.fromkeys(S3_SCHEMES, _s3),
    "hdfs": _hdfs,
    "gs": _gcs,
    "abfs": _azure,
    "abfss": _azure,
}
