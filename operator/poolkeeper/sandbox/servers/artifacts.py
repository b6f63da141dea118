"""The jars of a Kafka version, downloaded once by Maven and kept in the cache.

A pom per version lies in `poms/`. It is resolved into `<cache>/kafka/<version>-<hash>/`, where the
hash covers the pom and the way of resolving it: a changed pom makes a new folder and never mixes
with the old one. The folder is filled under another name and renamed when it is complete. A lock
file makes processes that want the same version at the same time wait for one of them.

The cache is `$POOLKEEPER_CACHE`, else `.cache` in the source checkout that this package is run
from, else `~/.cache/poolkeeper`.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from poolkeeper import errors, output_files
from poolkeeper.frozen import frozen
from poolkeeper.temporary_folders import temporary_folder

LATEST = "3.9.2"
"""The version whose class path also brings the ZooKeeper server (3.8.4) that serves all others."""

RESOLVER = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
DEBIAN_PACKAGES = {"java": "default-jre-headless", "mvn": "maven"}
RESOLVE_TIMEOUT_S = 600


@frozen
class Tools:
    """Absolute paths of the programs needed: java and mvn."""

    java: str
    mvn: str


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for downloads and throw-away sandboxes; it need not exist yet."""
    if chosen := environment.get("POOLKEEPER_CACHE"):
        return Path(chosen).absolute()
    checkout = Path(__file__).parents[4]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".cache"
    return Path(environment.get("HOME", "~")).expanduser() / ".cache" / "poolkeeper"


def versions() -> tuple[str, ...]:
    """Return the Kafka versions that the sandbox can run, newest first."""
    poms = resources.files(__package__) / "poms"
    found = [pom.name.removesuffix(".xml") for pom in poms.iterdir() if pom.name.endswith(".xml")]
    return tuple(sorted(found, key=lambda v: tuple(map(int, v.split("."))), reverse=True))


def find_tools(search_path: str | None = None) -> Tools:
    """Find java and mvn on `search_path` (as `$PATH`, which is the default).

    Raises Unavailable that names every missing program with the Debian package that brings it.
    """
    found = {name: shutil.which(name, path=search_path) for name in DEBIAN_PACKAGES}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        packages = " ".join(DEBIAN_PACKAGES[name] for name in missing)
        raise errors.Unavailable(
            f"the sandbox needs {' and '.join(missing)}, not found on the search path: "
            f"apt-get install {packages}"
        )
    return Tools(java=found["java"] or "", mvn=found["mvn"] or "")


def class_path(version: str, cache: Path, tools: Tools) -> Path:
    """Return the folder that holds the jars of `version`, resolving it at the first call.

    Raises Refused for a version without a pom, Unavailable if Maven fails.
    """
    pom = resources.files(__package__) / "poms" / f"{version}.xml"
    if not pom.is_file():
        raise errors.Refused(f"the sandbox has no Kafka {version} (it has {', '.join(versions())})")
    return jars(version, pom.read_text(encoding="utf-8"), cache, tools)


def jars(name: str, pom: str, cache: Path, tools: Tools) -> Path:
    """Return the folder that holds the jars that a pom names, resolving it at the first call.

    Raises Unavailable if Maven fails.
    """
    named = digest(f"{RESOLVER}\n{pom}")
    # Resolved: class archives (`class_archives`) hold for jars at one path.
    folder = (cache / "kafka" / f"{name}-{named}").resolve()
    if not folder.is_dir():
        output_files.make_folder(folder.parent)
        with hold_lock(folder.parent / f"{folder.name}.lock"):
            if not folder.is_dir():
                _resolve(pom, folder, tools)
    return folder


def digest(text: str) -> str:
    """Return a short name of a text, for a folder that is made of it."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """Hold an exclusive lock on `file` among processes; it ends with the process at the latest.

    Raises Refused where the file cannot be made.
    """
    try:
        handle = file.open("w")
    except OSError as error:
        raise errors.Refused(f"{file}: cannot be made ({error.strerror})") from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _resolve(pom: str, folder: Path, tools: Tools) -> None:
    with temporary_folder(folder.parent) as work:
        output_files.write(work / "pom.xml", pom)
        arguments = ["-q", "-B", RESOLVER, "-DincludeScope=runtime", "-DoutputDirectory=lib"]
        try:
            run = subprocess.run(
                [tools.mvn, *arguments],
                cwd=work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=RESOLVE_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as slow:
            raise errors.Unavailable(
                f"Maven did not bring {folder.name} in {RESOLVE_TIMEOUT_S} s"
            ) from slow
        if run.returncode:
            last = (run.stdout + run.stderr).strip()[-2000:]
            raise errors.Unavailable(f"Maven could not bring {folder.name}: {last}")
        (work / "lib").rename(folder)
