"""Java classes of tests, compiled: `compiled(source, jars)` is a folder for a class path.

`compiled_folder` is the same for several files that make one program.

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
    return compiled_folder(source.stem, [source], [] if jars is None else [jars])


def compiled_folder(name: str, sources: Iterable[Path], jars: Iterable[Path] = ()) -> Path:
    """Return the folder of several files that are compiled together, at the first call.

    `jars` are folders of what the files are written against.
    """
    tools, cache = artifacts.find_tools(), artifacts.cache_folder()
    compiler = artifacts.jars("compiler", pom_of(_COMPILER), cache, tools)
    files, folders = list(sources), list(jars)
    texts = [file.read_text(encoding="utf-8") for file in files]
    made_of = artifacts.digest("".join([*texts, *(folder.name for folder in folders)]))
    folder = compiler.with_name(f"{name}-{made_of}")
    with artifacts.hold_lock(folder.with_name(f"{folder.name}.lock")):
        if not folder.is_dir():
            unfinished = folder.with_name(f".{folder.name}")
            main = "org.eclipse.jdt.internal.compiler.batch.Main"
            path = ":".join(str(jar) for each in folders for jar in each.glob("*.jar"))
            options = ("-11", "-nowarn", *(["-cp", path] if path else []), "-d", str(unfinished))
            run = subprocess.run(
                [tools.java, "-cp", f"{compiler}/*", main, *options, *map(str, files)],
                capture_output=True,
                text=True,
                timeout=COMPILE_TIMEOUT_S,
                check=False,
            )
            assert run.returncode == 0, f"{name} is not compiled: {run.stderr[-2000:]}"
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
