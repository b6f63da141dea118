"""The file system that a container sees.

Its "image" is this machine: an overlay on `/` whose upper layer is a tmpfs of the container, so
that whatever it writes or whatever mount points it needs are its own and end with it. On top of
that come the machine's other mounts, /proc of the container's processes, a /dev with the usual
eight devices, an /etc/hosts that knows the pod, and last the volumes. Where the root is to be
read-only, the overlay and the machine's mounts are; volumes and /dev/shm are not.

Two things follow from "an overlay on /". What the machine's files look like *while* a container
runs is undefined, as for every overlay: share files through a hostPath volume. And the kubelet's
folder, where the volumes of all pods live, is hidden by an empty mount.

Everything is mounted after pivot_root, with the machine's root still there at OLD: the paths of
mounts lead over absolute links (/var/run -> /run), which must mean the container's.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import syscalls

OLD = "/.machine"
ASIDE = "/.aside"
OF_KERNEL = ("/proc", "/sys", "/dev")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
ROOT_SIZE = "2g"
SHM_SIZE = "64m"


def enter(launch: Mapping[str, Any]) -> None:
    """Make the root that `launch` describes the root of this mount namespace."""
    read_only = launch["read_only_root"]
    others = tuple(_mounts_of_machine(launch["hidden"]))
    syscalls.make_private()
    _enter_overlay(launch["directory"])
    for path in others:
        _bind(OLD + path, path, read_only=read_only)
    _mount_kernel_file_systems()
    Path("/etc/hosts").unlink(missing_ok=True)
    Path("/etc/hosts").write_text(launch["hosts"], encoding="utf-8")
    _open_folders(launch["searchable"])
    syscalls.mount("tmpfs", launch["hidden"], "tmpfs", syscalls.MS_RDONLY)
    image = _set_aside(launch["image"])
    for mount in launch["mounts"]:
        _bind(OLD + mount["source"], mount["path"], read_only=mount["read_only"])
    for place, path in image:
        _put_back(place, path, read_only=read_only)
    syscalls.detach(OLD)
    os.rmdir(OLD)
    if read_only:
        _remount_read_only("/")


def _mounts_of_machine(hidden: str) -> Iterator[str]:
    """Yield where something else than / is mounted, outermost first; not what the kernel shows."""
    below = tuple(f"{path}/" for path in (*OF_KERNEL, hidden))
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            path = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
            if path != "/" and not f"{path}/".startswith(below):
                yield path


def _enter_overlay(directory: str) -> None:
    # The upper layer must not lie on the lower one, and dies with this namespace: a tmpfs.
    layer, root = f"{directory}/layer", f"{directory}/root"
    for path in (layer, root):
        os.makedirs(path, exist_ok=True)
    syscalls.mount("tmpfs", layer, "tmpfs", 0, f"mode=755,size={ROOT_SIZE}")
    os.mkdir(f"{layer}/upper")
    os.mkdir(f"{layer}/work")
    options = f"lowerdir=/,upperdir={layer}/upper,workdir={layer}/work"
    syscalls.mount("overlay", root, "overlay", 0, options)
    os.mkdir(root + OLD)
    syscalls.pivot_root(root, root + OLD)
    os.chdir("/")


def _mount_kernel_file_systems() -> None:
    plain = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    syscalls.mount("proc", "/proc", "proc", plain)
    syscalls.mount(OLD + "/sys", "/sys", None, syscalls.MS_BIND | syscalls.MS_REC)
    syscalls.mount("tmpfs", "/dev", "tmpfs", syscalls.MS_NOSUID, "mode=755,size=1m")
    for name in DEVICES:
        _bind(f"{OLD}/dev/{name}", f"/dev/{name}", read_only=False)
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.mkdir("/dev/shm")
    syscalls.mount("tmpfs", "/dev/shm", "tmpfs", plain, f"mode=1777,size={SHM_SIZE}")


def _open_folders(paths: Sequence[str]) -> None:
    """Let every user pass through these folders: the image, unlike the machine, is for all."""
    everybody = stat.S_IXGRP | stat.S_IXOTH
    for path in paths:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & everybody != everybody:
            os.chmod(path, mode | everybody)


def _set_aside(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Keep these folders as the container has them by now; return where each is kept.

    A volume is about to be mounted over them. The machine's own would have other modes, and would
    show what is hidden.
    """
    kept = [(f"{ASIDE}-{number}", path) for number, path in enumerate(paths)]
    for place, path in kept:
        os.mkdir(place)
        syscalls.mount(path, place, None, syscalls.MS_BIND | syscalls.MS_REC)
    return kept


def _put_back(place: str, path: str, *, read_only: bool) -> None:
    os.makedirs(path, exist_ok=True)
    syscalls.mount(place, path, None, syscalls.MS_BIND | syscalls.MS_REC)
    if read_only:
        _remount_read_only(path)
    syscalls.detach(place)
    os.rmdir(place)


def _bind(source: str, target: str, *, read_only: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb"):
            pass
    syscalls.mount(source, target, None, syscalls.MS_BIND)
    if read_only:
        _remount_read_only(target)


def _remount_read_only(path: str) -> None:
    syscalls.mount("none", path, None, syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY)
