"""Keys and certificates that a kubeconfig holds as text, where libraries take only files of them.

The `kubernetes` package writes them to files of the folder for temporary files, and deletes these
when Python ends. A process that is killed, or told to end a second time while it ends, would leave
a private key there. So they are kept in memory, as files without a name: nothing is left of them,
however the process ends. Where the system has no such files, as macOS, they stay what they were.
"""

import os
from typing import Any

from kubernetes.config import kube_config

_DESCRIPTORS = "/proc/self/fd"
_WRITE = "_create_temp_file_with_content"
_paths: dict[bytes, str] = {}
"""Of each content, for as long as the process lives: clients read it at each connection."""


def keep_in_memory() -> None:
    """Have the `kubernetes` package keep in memory what it would write to files."""
    if hasattr(os, "memfd_create") and os.path.isdir(_DESCRIPTORS):
        setattr(kube_config, _WRITE, _path_of)


def _path_of(content: str | bytes, *_: Any, **__: Any) -> str:
    """Return the path of a file in memory with this content."""
    data = content.encode() if isinstance(content, str) else content
    if data not in _paths:
        number = os.memfd_create("kubeconfig")
        with open(number, "wb", closefd=False) as file:
            file.write(data)
        _paths[data] = f"{_DESCRIPTORS}/{number}"
    return _paths[data]
