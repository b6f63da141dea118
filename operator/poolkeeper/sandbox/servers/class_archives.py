"""Archives of loaded classes (AppCDS): with them servers start with two thirds of the work.

Most of a start is the loading of classes: ZooKeeper and three brokers of 3.9.2 take 5 CPU seconds
with archives and 8 without. To make them takes about 15 CPU seconds for each version, and servers
that end gracefully: it is worth it for whoever starts many clusters. So archives are used where
they lie beside the jars, and only a sandbox of `archive_classes` makes them. Only one may do so at
a time: all versions share the archive of ZooKeeper.

A JVM silently ignores an archive of another JVM, or of jars that lie elsewhere, are younger or come
in another order. All of that is in an archive's name: who moves a cache, or renews Java, is without
an archive and makes a new one.
"""

import hashlib
from pathlib import Path

ZOOKEEPER = "zookeeper"
BROKER = "broker"


def file(java: str, jars: Path, server: str) -> Path:
    """Return where the archive of a server is, if there is one."""
    digest = hashlib.sha256()
    # Not sorted: a JVM takes the jars of `/*` in the order in which the folder has them.
    for part in (Path(java).resolve(), *jars.glob("*.jar")):
        stat = part.stat()
        digest.update(f"{part} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return jars.with_name(f"{jars.name}.{server}-{digest.hexdigest()[:12]}.jsa")


def options(java: str, jars: Path, server: str, *, record: bool) -> tuple[str, ...]:
    """Return the JVM's options to use the archive, if there is one; or to `record` it."""
    archive = file(java, jars, server)
    if record:
        return (f"-XX:ArchiveClassesAtExit={archive}.new",)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.exists() else ()


def publish(java: str, jars: Path, server: str) -> None:
    """Let the archive that a server recorded be used from now on."""
    archive = file(java, jars, server)
    archive.with_name(f"{archive.name}.new").replace(archive)
