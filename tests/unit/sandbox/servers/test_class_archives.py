from poolkeeper.sandbox.servers import class_archives
from poolkeeper.sandbox.servers.class_archives import BROKER, ZOOKEEPER


def test_an_archive_is_used_from_when_it_was_published(tmp_path):
    jars = tmp_path / "3.9.2-0123"
    assert class_archives.options(jars, BROKER, record=False) == ()
    archive = tmp_path / "3.9.2-0123.broker.jsa"
    [recorded] = class_archives.options(jars, BROKER, record=True)
    assert recorded == f"-XX:ArchiveClassesAtExit={archive}.new"
    archive.with_name(f"{archive.name}.new").write_bytes(b"classes")
    assert class_archives.options(jars, BROKER, record=False) == ()
    class_archives.publish(jars, BROKER)
    assert class_archives.options(jars, BROKER, record=False) == (
        f"-XX:SharedArchiveFile={archive}",
    )
    assert class_archives.options(jars, ZOOKEEPER, record=False) == ()
