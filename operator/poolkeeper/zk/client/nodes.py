"""A znode as read: its data and the parts of its stat that we use."""

from typing import NamedTuple


class Node(NamedTuple):
    """One znode. A node without data and one whose data is empty are both `b""`.

    `version` counts changes of the data since the node was created. `czxid` names the creation:
    the same path with another one is another node. `mzxid` names the last change, the creation
    included. `ephemeral_owner` is the session that the node ends with, 0 for none. `children` is
    their number.
    """

    data: bytes
    version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int
    children: int


UNREADABLE = Node(b"", -1, 0, 0, 0, 0)
"""Stands for a node whose ACL does not let us read it, where the reader can live with that."""
UNASKED = Node(b"", -2, 0, 0, 0, 0)
"""Stands for a node that nobody asked for."""
UNREADABLE_BODY = b"?"
"""The same, for the data of such a node; no node that Kafka or we write holds it."""
HIDDEN = "its ACL does not let us read it"
"""What is wrong with such a node, for people."""
