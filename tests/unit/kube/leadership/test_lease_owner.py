"""With what a Lease goes: the Deployment, if it can be read."""

from poolkeeper.errors import Forbidden
from poolkeeper.kube.leadership import leader_election
from poolkeeper.kube.leadership.leader_election import Lease
from poolkeeper.kube.leadership.lease_owner import LeaseOwner

PATH = "/apis/apps/v1/namespaces/ops/deployments/pk"
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "pk", "uid": "u1"}


class FakeApi:
    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def get(self, path, **_):
        self.asked.append(path)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_the_deployment_is_read_once():
    api = FakeApi({"metadata": {"name": "pk", "uid": "u1"}})
    owner = LeaseOwner(api, "ops", "pk")
    assert [owner.references(), owner.references()] == [[REFERENCE], [REFERENCE]]
    assert api.asked == [PATH]


def test_what_cannot_be_read_is_asked_for_again_and_nobody_is_no_trouble():
    api = FakeApi(Forbidden("RBAC"), None)
    owner = LeaseOwner(api, "ops", "pk")
    assert [owner.references(), owner.references(), owner.references()] == [[], [], []]
    assert len(api.asked) == 2
    assert LeaseOwner(FakeApi(), "ops", "").references() == []


def test_the_lease_names_its_owner():
    lease = Lease("a", 9, "", "", 0, "")
    meta = leader_election.body(lease, "ops", "pk", [REFERENCE])["metadata"]
    assert meta == {"namespace": "ops", "name": "pk", "ownerReferences": [REFERENCE]}
    assert "ownerReferences" not in leader_election.body(lease, "ops", "pk")["metadata"]
