"""The programs that the tests of Kubernetes and of object stores need, compiled or brought once.

    python3 tests/control_plane/building.py [control-plane|helm|promtool|versitygw|all]

Distributions have no current API server, so it is compiled from source (`main.go`), once: that
takes ten minutes of one processor. `make test` therefore starts this first, in the background; it
needs a Python and Go, but neither the virtual environment nor anything of ours.
Whoever needs a program asks for it by function, and waits or learns here why it cannot be had.

* the control plane, from the Go module in this folder, in `control-plane/HASH/`, kubectl included;
  of the oldest Kubernetes that the chart takes as well (`oldest.mod`), for `make soak` alone
* helm, from Helm's own Go module, in `helm/VERSION/`
* promtool, as it is on the search path, else from Debian's package `prometheus` in
  `debian/prometheus/`: unpacked, not installed, so that no root is needed and no server starts
* versitygw, an S3 server over a folder, from its own Go module, in `versitygw/VERSION/`; built last

HASH covers the module's files, the way of building and the version of Go. A folder is filled under
another name and renamed when it is whole: a folder that exists is complete. A lock file makes
processes that want the same program at the same time wait for one of them. What the compiler keeps
for itself (3 GB) is in Go's own cache, where `go clean -cache` removes it.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).parent
CHECKOUT = SOURCE.parents[1]
HELM_VERSION = "v4.3.1"
VERSITYGW_VERSION = "v1.8.0"
OLDEST = "oldest"
"""The files of the oldest Kubernetes that the chart takes; only `make soak` builds that."""
GO_LEAST = (1, 26)
GO_TIMEOUT_S = 2400.0
APT_TIMEOUT_S = 300.0
GO_FLAGS = "-trimpath -buildvcs=false '-gcflags=all=-dwarf=false -l'"
"""No tables for debuggers and nothing inlined: a third less to compile, all programs alike, so that
they share what is compiled. What a server does takes a quarter more by it."""
VERSION_PACKAGE = "k8s.io/component-base/version"


class BuildError(Exception):
    """A program cannot be had; the message says why and what to do."""


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `$POOLKEEPER_CACHE`, else `.cache` of the checkout, as the sandbox has it."""
    chosen = environment.get("POOLKEEPER_CACHE")
    return Path(chosen).absolute() if chosen else CHECKOUT / ".cache"


def control_plane(source: Path = SOURCE, cache: Path | None = None, modules: str = "go") -> Path:
    """Return the folder that holds `control-plane` and `kubectl`, building them at the first call.

    `source` is the Go module; `modules` names the files with what it requires. Raises BuildError.
    """
    go, version = find_go()
    required = [source / f"{modules}.mod", source / f"{modules}.sum"]
    files = [*required, *sorted(source.glob("*.go"))]
    flags = _linker_flags(files[0].read_text(encoding="utf-8"))
    digest = hashlib.sha256(f"{version}\n{flags}\n{GO_FLAGS}\n".encode())
    for file in files:
        digest.update(file.read_bytes())

    def build(work: Path) -> None:
        program = work / "control-plane"
        modfile = f"-modfile={required[0].name}"
        command = [go, "build", modfile, "-ldflags", flags, "-o", str(program), "."]
        _run(command, "the control plane", GO_TIMEOUT_S, folder=source, environment=_for_go({}))
        (work / "kubectl").symlink_to(program.name)

    folder = (cache or cache_folder()) / "control-plane" / digest.hexdigest()[:16]
    return _once(folder, "building the control plane (minutes, the first time)", build)


def helm() -> Path:
    """Return the program `helm`, building it at the first call. Raises BuildError."""
    return _installed("helm", "helm.sh/helm/v4/cmd/helm", HELM_VERSION)


def versitygw() -> Path:
    """Return the program `versitygw`, building it at the first call. Raises BuildError."""
    return _installed("versitygw", "github.com/versity/versitygw/cmd/versitygw", VERSITYGW_VERSION)


def promtool() -> Path:
    """Return the program `promtool`. Raises BuildError."""
    return _of_prometheus("promtool")


def prometheus() -> Path:
    """Return the program `prometheus`, the server. Raises BuildError."""
    return _of_prometheus("prometheus")


def find_go() -> tuple[str, str]:
    """Return Go's path and version, such as "go1.26.8". Raises BuildError if none is new enough."""
    least = ".".join(map(str, GO_LEAST))
    go = shutil.which("go")
    if go is None:
        raise BuildError(
            f"the control plane for tests is built with Go {least} or later, "
            "and there is no go on the search path"
        )
    told = _run([go, "env", "GOVERSION"], "go env", 60, environment=_for_go({})).strip()
    numbers = re.match(r"go(\d+)\.(\d+)", told)
    if not numbers or tuple(map(int, numbers.groups())) < GO_LEAST:
        raise BuildError(
            f"the control plane for tests is built with Go {least} or later; {go} is {told}"
        )
    return go, told


def _linker_flags(go_mod: str) -> str:
    """Strip symbols, and set the version that the server tells: by itself it says v0.0.0."""
    found = re.search(r"k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)", go_mod)
    if found is None:
        raise BuildError("go.mod names no version of k8s.io/kubernetes")
    version, major, minor = found.groups()
    told = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "unknown",
    }
    return " ".join(["-s -w", *(f"-X {VERSION_PACKAGE}.{k}={v}" for k, v in told.items())])


def _for_go(more: Mapping[str, str]) -> dict[str, str]:
    """Return our environment without what would make another binary of the same source."""
    fixed = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return {**os.environ, **fixed, "GOFLAGS": GO_FLAGS, **more}


def _installed(name: str, package: str, version: str) -> Path:
    """Return the program that Go installs from a module's package, at exactly this version."""
    go, _ = find_go()

    def build(work: Path) -> None:
        command = [go, "install", f"{package}@{version}"]
        _run(command, name, GO_TIMEOUT_S, environment=_for_go({"GOBIN": str(work)}))

    folder = cache_folder() / name / version
    return _once(folder, f"building {name} {version}", build) / name


def _of_prometheus(name: str) -> Path:
    if found := shutil.which(name):
        return Path(found)
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or dpkg is None:
        raise BuildError(
            f"{name} is not on the search path, and this is no Debian whose package "
            "`prometheus` could be unpacked"
        )

    def unpack(package: str, work: Path) -> None:
        # The package is not installed: that would start a server, and needs root.
        with tempfile.TemporaryDirectory(dir=work) as download:
            fetch = [apt, "download", "-q", package]
            try:
                _run(fetch, f"the package {package}", APT_TIMEOUT_S, folder=Path(download))
            except BuildError:  # there may be no package lists yet
                _run([apt, "update", "-q"], "the package lists", APT_TIMEOUT_S)
                _run(fetch, f"the package {package}", APT_TIMEOUT_S, folder=Path(download))
            for file in Path(download).glob("*.deb"):
                _run([dpkg, "-x", str(file), str(work)], file.name, APT_TIMEOUT_S)

    def unpack_all(work: Path) -> None:
        unpack("prometheus", work)
        if not (work / "usr/bin/promtool").exists():  # a package of its own from Debian 13 on
            unpack("promtool", work)

    folder = cache_folder() / "debian" / "prometheus"
    return _once(folder, "bringing Debian's package prometheus", unpack_all) / "usr" / "bin" / name


def _once(folder: Path, what: str, fill: Callable[[Path], None]) -> Path:
    """Return `folder`, letting `fill` fill it if it is not there."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f"{folder.name}.lock"):
        if folder.is_dir():  # somebody else was first
            return folder
        began = time.monotonic()
        print(f"{what} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as work:
            filled = Path(work, "filled")
            filled.mkdir()
            fill(filled)
            filled.rename(folder)
        print(f"{what}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return folder


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _run(
    command: Sequence[str],
    what: str,
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what a command prints. Raises BuildError with the end of what it complained of."""
    try:
        run = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as slow:
        raise BuildError(f"{what}: `{' '.join(command[:2])}` took over {timeout_s:g} s") from slow
    if run.returncode:
        raise BuildError(f"{what}: `{' '.join(command[:2])}` failed: {run.stderr.strip()[-3000:]}")
    return run.stdout


PROGRAMS: dict[str, Callable[[], Path]] = {
    "control-plane": control_plane,
    "helm": helm,
    "promtool": promtool,
    "versitygw": versitygw,  # minutes of work, and needed late: behind everything else
}


def main(arguments: Sequence[str]) -> int:
    """Build what is named, all by default; one that fails does not keep the others from it."""
    wanted = PROGRAMS if list(arguments) in ([], ["all"]) else {name: 0 for name in arguments}
    if unknown := sorted(set(wanted) - set(PROGRAMS)):
        print(f"no {', '.join(unknown)} here: only {', '.join(PROGRAMS)}, all", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted:
        try:
            print(f"{name}: {PROGRAMS[name]()}")
        except BuildError as reason:
            print(f"{name}: {reason}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
