import pytest

from poolkeeper.model.addresses import connect_problem, ensemble, servers_problem

CHROOT_EARLY = "has a chroot before its end (expected one chroot, after the last host)"


@pytest.mark.parametrize(
    "connect",
    ["zk:2181", "zk-1:2181,zk-2:2181/kafka", "10.0.0.1:2181/a/b", "[::1]:2181", "zk_1.local:1/ü"],
)
def test_sound_connection_strings(connect):
    assert connect_problem(connect) is None


@pytest.mark.parametrize(
    ("connect", "problem"),
    [
        ("zk:2181/", "the chroot '/' is no path (expected such as /kafka)"),
        ("zk:2181//a", "the chroot '//a' is no path (expected such as /kafka)"),
        ("zk:2181/a/..", "the chroot '/a/..' has a dot for a name (expected such as /kafka)"),
        (
            "zk:2181/a,b:1/a",
            CHROOT_EARLY,
        ),
        ("/kafka", "has an empty entry between its commas (expected host:port)"),
        ("zk:2181,", "has an empty entry between its commas (expected host:port)"),
        ("zk:0", "'0' is no port (expected 1 to 65535)"),
        ("zk:65536", "'65536' is no port (expected 1 to 65535)"),
        ("zk:2181,zk:2181", "'zk:2181' is listed twice (expected once)"),
        ("[::1]", "'[::1]' has no port (expected host:port)"),
        ("zk..local:2181", "'zk..local' is no host (expected host:port)"),
        ("z" * 64 + ":2181", f"'{'z' * 64}' is no host (expected host:port)"),
        ("z k:2181", "'z k' is no host (expected host:port)"),
    ],
)
def test_what_is_wrong_with_connection_strings(connect, problem):
    assert connect_problem(connect) == problem


def test_servers_have_no_chroot():
    assert servers_problem("k:9092/a") == "'9092/a' is no port (expected 1 to 65535)"


def test_an_ensemble_is_its_servers_and_the_chroot():
    assert ensemble("A:1,b:2/k") == (frozenset({"a:1", "b:2"}), "/k")
