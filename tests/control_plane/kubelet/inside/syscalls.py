"""The system calls that Python 3.11 has no function for. Every one raises OSError naming itself."""

import ctypes
import os
import signal

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name for new ones (of pids: only children are in it)."""
    _check(_libc.unshare(flags), "unshare")


def mount(
    source: str, target: str, kind: str | None = None, flags: int = 0, options: str = ""
) -> None:
    """Mount a file system of `kind`, or with MS_BIND a folder or file, on `target`."""
    status = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(status, f"mount {kind or source} on {target}")


def make_private() -> None:
    """Let no mount made here from now on be seen outside this mount namespace."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def detach(target: str) -> None:
    """Unmount `target` and all below it, now out of sight and later out of use."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root of this mount namespace; what was the root is found at `old`, in it."""
    number = SYS_PIVOT_ROOT[os.uname().machine]
    status = _libc.syscall(ctypes.c_long(number), new.encode(), old.encode())
    _check(status, f"pivot_root to {new}")


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends; survives exec."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl PDEATHSIG")


def give_up_capability(number: int) -> None:
    """Remove a capability from what this process and its children can ever have."""
    _check(_libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), f"drop capability {number}")


def gain_no_privileges() -> None:
    """Make set-uid files and file capabilities powerless for this process and its children."""
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl NO_NEW_PRIVS")


def _check(status: int, what: str) -> None:
    if status < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
