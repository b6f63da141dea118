"""Commands that messages name, completed so that they can be pasted as they are.

Whoever words a message knows no command line: a wait is told by `status`, by a page and in the
status of a resource. So a message names the command alone, `poolkeeper stop` in backticks, and here
the options are added that tell the cluster of the command that prints it. Where a command takes
manifests alone and none were given, `-f DIR` says that it does.

Backticks are the mark of a command to run. A process that runs, or did, is named without them:
poolkeeper run on host-1, process 7.
"""

import re
import shlex

from poolkeeper.frozen import frozen

_HINT = re.compile(r"`poolkeeper ([a-z]+)((?: [^`]*)?)`")
_BY_MANIFESTS = ("apply", "plan", "run")
_ADDRESSED = (*_BY_MANIFESTS, "repair", "rollback", "show", "status", "stop", "why", "history")
_ADDRESSES = ("-f", "--zookeeper", "--kubernetes")


@frozen
class AddressOptions:
    """The options of a command line that tell its cluster.

    `manifests`: those that name the folders; `cluster`: which of theirs; `direct`: those that
    address ZooKeeper; `connection`: credentials.
    """

    manifests: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    connection: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """All of them, for a line of a shell."""
        return (*self.manifests, *self.direct, *self.cluster, *self.connection)


class _CommandLine:
    """The command line of this process: it has one, whichever thread prints."""

    address = AddressOptions()


def printed_for(address: AddressOptions) -> None:
    """Complete the hints that are printed from now on with this address."""
    _CommandLine.address = address


def complete_commands(text: str, cluster: str = "") -> str:
    """Return the text, its commands with the options that select the cluster."""
    address = _CommandLine.address
    if "`poolkeeper " not in text or not (address.manifests or address.direct):
        return text
    if cluster and address.manifests and not address.cluster:
        address = AddressOptions(address.manifests, ("--cluster", cluster), (), address.connection)

    def line(found: re.Match[str]) -> str:
        command, rest = found.groups()
        if any(option in rest.split() for option in _ADDRESSES):
            return found.group()
        return f"`poolkeeper {command}{rest}{_options(command, address)}`"

    return _HINT.sub(line, text)


def _options(command: str, address: AddressOptions) -> str:
    if command == "validate":
        words = address.manifests
    elif command not in _ADDRESSED:
        words = ()
    elif command in _BY_MANIFESTS and not address.manifests:
        words = ("-f", "DIR")
    elif command == "run":
        words = address.manifests
    else:
        words = address.words
    return f" {shlex.join(words)}" if words else ""
