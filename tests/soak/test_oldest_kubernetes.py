"""The oldest Kubernetes that the chart takes takes the chart: its definitions, policies, objects.

Each release reckons in its own way what a rule may cost, and what a definition may say grows.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_plane import building
from control_plane.planes import ControlPlane

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "charts" / "poolkeeper"
VALUES = """\
policies: {enabled: true}
ui: {enabled: true, tokenSecret: token}
watchNamespaces: [demo]
networkPolicy: {enabled: true}
"""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def oldest() -> Iterator[ControlPlane]:
    with ControlPlane.start(building.control_plane(modules=building.OLDEST)) as plane:
        yield plane


def test_it_is_the_one_that_the_chart_names(oldest: ControlPlane) -> None:
    told = oldest.kubectl("version").stdout
    least = re.search(r'kubeVersion: ">=(1\.\d+)\.', (CHART / "Chart.yaml").read_text())
    assert least is not None
    assert f"Server Version: v{least[1]}." in told


def test_it_takes_definitions_resources_and_the_chart(oldest: ControlPlane, tmp_path: Path) -> None:
    oldest.apply_crds(REPOSITORY / "crds")
    oldest.kubectl("create", "namespace", "demo")
    oldest.kubectl("apply", "-f", str(REPOSITORY / "examples" / "manifests"))
    (tmp_path / "values.yaml").write_text(VALUES)
    chart = ("template", "poolkeeper", str(CHART), "--namespace", "demo", "--kube-version", "1.30")
    rendered = subprocess.run(
        [building.helm(), *chart, "--values", str(tmp_path / "values.yaml"), "--no-hooks"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    taken = oldest.kubectl("apply", "-f", "-", input=rendered).stdout
    assert taken.count("validatingadmissionpolicy.admissionregistration.k8s.io/") >= 4
    for size, verdict in (("0Gi", 1), ("1.5Ti", 0)):
        spec = {"capacity": {"overrides": [{"ids": [1], "disk": size}]}}
        patch = (
            "patch",
            "resourcepools",
            "pool1",
            "--type=merge",
            "-p",
            json.dumps({"spec": spec}),
        )
        assert oldest.kubectl(*patch, check=False).returncode == verdict, size
