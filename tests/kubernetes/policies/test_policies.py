"""All policies: the server finds no fault in them, and their files say what they are for."""

from admission import POLICIES
from conditions import until


def test_the_server_finds_no_fault_in_the_policies(admin):
    folder = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

    def policies():
        items = admin.send("GET", folder).body["items"]
        return [item for item in items if item["metadata"]["name"].startswith("poolkeeper-")]

    def checked():
        found = policies()
        return found if all("typeChecking" in p.get("status", {}) for p in found) else []

    found = until(checked, "the controllers checked the types of all policies")
    assert [item["status"]["typeChecking"] for item in found] == [{}] * 10


def test_every_file_says_what_it_is_for_and_has_nothing_for_templates():
    for file in POLICIES.glob("*.yaml"):
        text = file.read_text()
        assert text.startswith("# "), file
        assert "{{" not in text, file
        assert text.count("validationActions: [Deny]") == text.count(
            "kind: ValidatingAdmissionPolicy\n"
        )
