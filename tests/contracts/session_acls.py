"""What a session promises where the nodes of a cluster are one identity's."""

from collections.abc import Iterator

import pytest
from kazoo.security import make_acl, make_digest_acl

from contracts.sessions import ALICE, SECRET, World
from poolkeeper.errors import Unavailable
from poolkeeper.model.credentials import ZooKeeperCredentials
from poolkeeper.zk.client.nodes import UNREADABLE
from poolkeeper.zk.client.operations import Create, SetData


class AclContract:
    """Tests of `Session` in a cluster whose nodes are one identity's."""

    @pytest.fixture
    def secured(self, world: World) -> Iterator[World]:
        """Give a world in which everything is Alice's, as with zookeeper.set.acl."""
        private = make_digest_acl("alice", SECRET, all=True)
        public = make_acl("world", "anyone", read=True)
        world.log_in("alice", SECRET)
        world.put("/config/brokers/1", b"rates")
        world.set_acl("/config/brokers/1", [private])
        world.set_acl("/config/brokers", [private])
        for path in ("/brokers/topics", "/brokers/ids", "/admin", "/config/topics"):
            world.set_acl(path, [private, public])
        yield world
        world.clear()

    def test_without_the_brokers_identity_writes_and_private_reads_are_told(
        self, secured: World
    ) -> None:
        with secured.open() as session:
            assert session.read("/brokers/topics") is not None
            with pytest.raises(Unavailable) as raised:
                session.read("/config/brokers/1")
            assert str(raised.value) == (
                "reading /config/brokers/1 is not allowed for this ZooKeeper identity"
            )
            paths = ["/admin", "/config/brokers/1", "/absent"]
            with pytest.raises(Unavailable, match="reading /config/brokers/1 is not allowed"):
                session.read_many(paths)
            assert session.read_many(paths, unreadable=UNREADABLE)[1:] == [UNREADABLE, None]
            with pytest.raises(Unavailable, match=r"/admin.* this ZooKeeper identity"):
                session.commit((Create("/admin/reassign_partitions", b""),))
            with pytest.raises(
                Unavailable, match="setting /admin is not allowed for this ZooKeeper"
            ):
                session.commit((SetData("/admin", b"", 0),))

    def test_a_wrong_password_is_told_at_the_first_write(self, secured: World) -> None:
        with secured.open(credentials=ZooKeeperCredentials("alice", "guess")) as session:
            with pytest.raises(Unavailable, match="this ZooKeeper identity"):
                session.commit((Create("/admin/reassign_partitions", b""),))
            assert session.read("/admin/reassign_partitions") is None

    def test_new_nodes_get_the_acl_of_their_parent_and_our_root_that_of_the_topics(
        self,
        secured: World,
    ) -> None:
        with secured.open(credentials=ALICE) as session:
            session.commit((Create("/poolkeeper", b""), Create("/poolkeeper/run", b"")))
            session.commit((Create("/poolkeeper/run/stop", b""), Create("/config/brokers/2", b"")))
            session.commit((Create("/config/topics/t", b""), Create("/brokers/topics/t", b"")))

        public, private = secured.acl("/brokers/topics"), secured.acl("/config/brokers")
        assert len(public) == 2
        assert len(private) == 1
        ours = ["/poolkeeper", "/poolkeeper/run", "/poolkeeper/run/stop"]
        assert [secured.acl(path) for path in [*ours, "/config/topics/t", "/brokers/topics/t"]] == [
            public
        ] * 5
        assert secured.acl("/config/brokers/2") == private

    def test_an_acl_that_changes_is_that_of_new_nodes_after_the_next_sync(
        self, secured: World
    ) -> None:
        """As zookeeper-security-migration changes them, under an operator whose session goes on."""
        private = make_digest_acl("alice", SECRET, all=True)
        with secured.open(credentials=ALICE) as session:
            session.commit((Create("/config/topics/before", b""),))
            secured.set_acl("/config/topics", [private])
            session.sync()
            session.commit((Create("/config/topics/after", b""),))
        assert secured.acl("/config/topics/after") == {private}
