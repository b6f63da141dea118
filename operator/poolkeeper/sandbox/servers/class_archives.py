"""Archives of loaded classes (AppCDS): with them servers start in three fifths of the time.

Most of a start is the loading of classes: ZooKeeper and three brokers of 3.9.2 take 4.5 CPU seconds
with archives and 7.7 without. To make them takes 6 CPU seconds for each version, and servers that
end gracefully: it is worth it for whoever starts many clusters. So archives are used where they lie
beside the jars, and only a sandbox of `archive_classes` makes them. Only one may do so at a time:
all versions share the archive of ZooKeeper.

A JVM ignores an archive of another JVM or of other jars.
"""

from pathlib import Path

ZOOKEEPER = "zookeeper"
BROKER = "broker"


def file(jars: Path, server: str) -> Path:
    """Return where the archive of a server is, if there is one."""
    return jars.with_name(f"{jars.name}.{server}.jsa")


def options(jars: Path, server: str, *, record: bool) -> tuple[str, ...]:
    """Return the JVM's options to use the archive, if there is one; or to `record` it."""
    archive = file(jars, server)
    if record:
        return (f"-XX:ArchiveClassesAtExit={archive}.new",)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.exists() else ()


def publish(jars: Path, server: str) -> None:
    """Let the archive that a server recorded be used from now on."""
    archive = file(jars, server)
    archive.with_name(f"{archive.name}.new").replace(archive)
