from pathlib import Path

import pytest

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines import executor

SAID = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_EXECUTOR_POD_NAME": "daily-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    "SPARK_JAVA_OPT_10": "-Dlast=1",
    "SPARK_JAVA_OPT_0": "-Dfirst=a b",
    "SPARK_JAVA_OPT_9": "-Dmiddle=1",
    "PATH": "/bin",
}


def test_the_command():
    assert executor.command(SAID, Path("/spark")) == [
        "java",
        "-Dfirst=a b",
        "-Dmiddle=1",
        "-Dlast=1",
        "-Xms512m",
        "-Xmx512m",
        "-cp",
        "/opt/spark/conf:/spark/jars/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", "spark://CoarseGrainedScheduler@10.0.0.1:7078"),
        *("--executor-id", "3"),
        *("--cores", "2"),
        *("--app-id", "spark-1"),
        *("--hostname", "10.0.0.2"),
        *("--resourceProfileId", "0"),
        *("--podName", "daily-exec-3"),
    ]


def test_who_is_no_pod_of_spark_learns_what_is_missing():
    said = {name: value for name, value in SAID.items() if name != "SPARK_DRIVER_URL"}
    with pytest.raises(Refused, match="people do not: SPARK_DRIVER_URL is not set"):
        executor.command(said | {"SPARK_CONF_DIR": ""}, Path("/spark"))


def test_the_command_of_a_driver():
    words = ("--properties-file", "/opt/spark/conf/spark.properties", "local:///a.py", "run")
    said = {"SPARK_DRIVER_BIND_ADDRESS": "10.0.0.3"}
    assert executor.driver_command(said, Path("/spark"), words) == [
        "/spark/bin/spark-submit",
        *("--conf", "spark.driver.bindAddress=10.0.0.3"),
        *("--conf", "spark.executorEnv.SPARK_DRIVER_POD_IP=10.0.0.3"),
        *("--deploy-mode", "client"),
        *words,
    ]
    with pytest.raises(Refused, match="SPARK_DRIVER_BIND_ADDRESS is not set"):
        executor.driver_command({}, Path("/spark"), words)
