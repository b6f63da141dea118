"""Which capabilities a container may have. Pure, and imported by the kubelet and inside alike.

Unless it is privileged, a process never has more than the fourteen that container engines leave by
default, less what the pod drops, plus what it adds.
"""

from collections.abc import Sequence

# In the order of the kernel's numbers, from 0.
_ALL = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE
AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
PERFMON BPF CHECKPOINT_RESTORE
"""
_DEFAULT = """
CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE
SYS_CHROOT KILL AUDIT_WRITE
"""
CAPABILITIES = tuple(_ALL.split())
DEFAULT = frozenset(_DEFAULT.split())


def kept(drop: Sequence[str], add: Sequence[str], privileged: bool) -> frozenset[str]:
    """Return the names of the capabilities that a container may have."""
    if privileged:
        return frozenset(CAPABILITIES)
    left = frozenset() if "ALL" in drop else DEFAULT - set(drop)
    return left | (set(CAPABILITIES) if "ALL" in add else set(add))
