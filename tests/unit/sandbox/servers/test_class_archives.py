import sys

from poolkeeper.sandbox.servers import class_archives
from poolkeeper.sandbox.servers.class_archives import BROKER, ZOOKEEPER

JAVA = sys.executable


def test_an_archive_is_used_from_when_it_was_published(tmp_path):
    jars = tmp_path / "3.9.2-0123"
    assert class_archives.options(JAVA, jars, BROKER, record=False) == ()
    archive = class_archives.file(JAVA, jars, BROKER)
    [recorded] = class_archives.options(JAVA, jars, BROKER, record=True)
    assert recorded == f"-XX:ArchiveClassesAtExit={archive}.new"
    archive.with_name(f"{archive.name}.new").write_bytes(b"classes")
    assert class_archives.options(JAVA, jars, BROKER, record=False) == ()
    class_archives.publish(JAVA, jars, BROKER)
    assert class_archives.options(JAVA, jars, BROKER, record=False) == (
        f"-XX:SharedArchiveFile={archive}",
    )
    assert class_archives.options(JAVA, jars, ZOOKEEPER, record=False) == ()


def test_what_a_jvm_would_not_take_has_another_name(tmp_path):
    jars = tmp_path / "a" / "3.9.2-0123"
    jars.mkdir(parents=True)
    jar = jars / "kafka.jar"
    jar.write_bytes(b"classes")
    first = class_archives.file(JAVA, jars, BROKER)
    assert class_archives.file(JAVA, jars, BROKER) == first
    jar.write_bytes(b"younger classes")
    younger = class_archives.file(JAVA, jars, BROKER)
    another_java = tmp_path / "java"
    another_java.write_bytes(b"program")
    moved = jars.parent.rename(tmp_path / "b") / jars.name
    files = [
        first,
        younger,
        class_archives.file(JAVA, moved, BROKER),
        class_archives.file(str(another_java), moved, BROKER),
    ]
    assert len({file.name for file in files}) == len(files)
