"""Whether it is made sure who approves: only while policy and binding are there as shipped."""

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from poolkeeper.errors import Unavailable
from poolkeeper.kube.client.policies import ASK_EVERY_S, BINDING, POLICY, ApproverPolicy

SHIPPED = Path(__file__).parents[4] / "policies" / "plan-approver.yaml"
THERE = dict(zip((POLICY, BINDING), yaml.safe_load_all(SHIPPED.read_text()), strict=True))


class Server:
    """Answers from `objects`; None is an outage."""

    def __init__(self, objects):
        self.objects = objects
        self.asked = 0

    def get(self, path, *, deadline_s=None):
        self.asked += 1
        if self.objects is None:
            raise Unavailable("no route")
        return self.objects.get(path)


def changed(path, **fields):
    objects = deepcopy(THERE)
    objects[path]["spec"].update(fields)
    return objects


@pytest.mark.parametrize(
    ("objects", "sure"),
    [
        pytest.param(THERE, True, id="as-shipped"),
        pytest.param({POLICY: THERE[POLICY]}, False, id="not-bound"),
        pytest.param({BINDING: THERE[BINDING]}, False, id="bound-to-nothing"),
        pytest.param(changed(BINDING, validationActions=["Audit"]), False, id="only-audited"),
        pytest.param(changed(BINDING, policyName="other"), False, id="bound-to-another"),
        pytest.param(
            changed(BINDING, matchResources={"namespaceSelector": {}}), False, id="not-everywhere"
        ),
        pytest.param(changed(POLICY, failurePolicy="Ignore"), False, id="failures-are-ignored"),
        pytest.param({}, False, id="absent"),
        pytest.param(None, False, id="cannot-be-asked"),
    ],
)
def test_it_is_made_sure_who_approves_while_the_shipped_policy_is_in_force(objects, sure):
    assert ApproverPolicy(Server(objects)).in_force() is sure


def test_it_is_asked_again_after_a_while():
    server, now = Server(THERE), [0.0]
    policy = ApproverPolicy(server, lambda: now[0])
    assert policy.in_force()
    server.objects = {}
    assert policy.in_force()
    assert server.asked == 2
    now[0] = ASK_EVERY_S
    assert not policy.in_force()
