"""How executors and submitted drivers of Spark begin in pods of the planner's image.

Spark makes an executor's pod with the one argument `executor`, and says the rest in its
environment: the driver's address, the executor's id, the options of its JVM. The program is one of
Spark's jars. It makes a driver's pod with the argument `driver`, where `spark-submit` was given
`--deploy-mode cluster`; all that follows is what `spark-submit` shall be given there.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from poolkeeper.errors import Refused

BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
"""Arguments of the program, and the variables that hold them."""

_NEEDED = ("SPARK_EXECUTOR_MEMORY", *ARGUMENTS.values())
_JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def command(environ: Mapping[str, str], spark: Path) -> list[str]:
    """The executor's command line; raises `Refused` naming what Spark did not say."""
    if missing := sorted(name for name in _NEEDED if not environ.get(name)):
        raise Refused(f"Spark starts executors, people do not: {', '.join(missing)} is not set")
    memory = environ["SPARK_EXECUTOR_MEMORY"]
    class_path = [environ["SPARK_CONF_DIR"]] if environ.get("SPARK_CONF_DIR") else []
    class_path.append(f"{spark}/jars/*")
    options = [found for name in environ if (found := _JAVA_OPTION.fullmatch(name))]
    options.sort(key=lambda found: int(found[1]))
    arguments = ((flag, environ[name]) for flag, name in ARGUMENTS.items())
    return [
        "java",
        *(environ[found[0]] for found in options),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        ":".join(class_path),
        BACKEND,
        *(word for pair in arguments for word in pair),
    ]


def driver_command(environ: Mapping[str, str], spark: Path, words: Sequence[str]) -> list[str]:
    """The driver's command line; raises `Refused` where Spark did not make the pod."""
    address = environ.get("SPARK_DRIVER_BIND_ADDRESS")
    if not address:
        raise Refused(
            "Spark starts drivers, people do not: SPARK_DRIVER_BIND_ADDRESS is not set (expected"
            " spark-submit --deploy-mode cluster)"
        )
    told = {"spark.driver.bindAddress": address, "spark.executorEnv.SPARK_DRIVER_POD_IP": address}
    given = (word for name, value in told.items() for word in ("--conf", f"{name}={value}"))
    return [f"{spark}/bin/spark-submit", *given, "--deploy-mode", "client", *words]


def spark_folder() -> Path:
    """Where Spark is installed; raises `Refused` where it is not."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise Refused("pyspark is not installed (expected pip install 'poolkeeper[fleet]')")
    return Path(found.origin).parent
