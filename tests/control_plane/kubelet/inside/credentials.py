"""Who a container's process is: its user, groups and capabilities.

A process of another user than root has no capability in effect, whichever it may have.
"""

import os
from collections.abc import Mapping
from typing import Any

import syscalls


def take_on(identity: Mapping[str, Any]) -> None:
    """Become the user, the groups and the bounded powers that `identity` describes.

    Its keys: uid, gid, groups, capabilities (numbers), escalates (may gain privileges).
    """
    for number in range(_capabilities_of_kernel()):
        if number not in identity["capabilities"]:
            syscalls.give_up_capability(number)
    for output in (1, 2):
        os.fchown(output, identity["uid"], identity["gid"])  # it may open /dev/stdout anew
    os.setgroups(identity["groups"])
    os.setgid(identity["gid"])
    os.setuid(identity["uid"])
    if not identity["escalates"]:
        syscalls.gain_no_privileges()


def _capabilities_of_kernel() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as last:
        return int(last.read()) + 1
