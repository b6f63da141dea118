"""Java classes of tests, compiled: `compiled(source, jars)` is a folder for a class path.

The compiler comes by Maven, as the brokers do: a machine that runs Kafka need not have one.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from poolkeeper.sandbox.servers import artifacts

COMPILE_TIMEOUT_S = 120
_COMPILER = ("org.eclipse.jdt:ecj:3.33.0",)


def compiled(source: Path, jars: Path | None = None) -> Path:
    """Return the folder of a compiled file, compiling it at the first call.

    `jars` is a folder of what the file is written against.
    """
    tools, cache = artifacts.find_tools(), artifacts.cache_folder()
    compiler = artifacts.jars("compiler", pom_of(_COMPILER), cache, tools)
    against = "" if jars is None else jars.name
    made_of = artifacts.digest(source.read_text(encoding="utf-8") + against)
    folder = compiler.with_name(f"{source.stem}-{made_of}")
    with artifacts.locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.is_dir():
            unfinished = folder.with_name(f".{folder.name}")
            main = "org.eclipse.jdt.internal.compiler.batch.Main"
            path = [] if jars is None else ["-cp", ":".join(map(str, jars.glob("*.jar")))]
            options = ("-11", "-nowarn", *path, "-d", str(unfinished), str(source))
            run = subprocess.run(
                [tools.java, "-cp", f"{compiler}/*", main, *options],
                capture_output=True,
                text=True,
                timeout=COMPILE_TIMEOUT_S,
                check=False,
            )
            assert run.returncode == 0, f"{source.name} is not compiled: {run.stderr[-2000:]}"
            unfinished.rename(folder)
    return folder


def pom_of(jars: Iterable[str]) -> str:
    """Return a pom of these jars alone: nothing of what they depend on is brought."""
    everything = "<groupId>*</groupId><artifactId>*</artifactId>"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version><exclusions><exclusion>{everything}</exclusion></exclusions>"
        "</dependency>\n"
        for group, name, version in (jar.split(":") for jar in jars)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>dev.poolkeeper.tests</groupId><artifactId>topic-configs</artifactId>"
        f"<version>1</version><packaging>pom</packaging>\n<dependencies>\n{dependencies}"
        "</dependencies></project>\n"
    )
