import json

import pytest

from poolkeeper.errors import Refused
from poolkeeper.kube.client.client import Api

CONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1/"}}],
    "users": [{"name": "u", "user": {"token": "secret"}}],
    "contexts": [
        {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ops"}},
        {"name": "y", "context": {"cluster": "c", "user": "u"}},
    ],
}


@pytest.fixture
def connect(tmp_path):
    """Connects with the text of a kubeconfig, as if in a pod without an account."""

    def act(text, **environ):
        file = tmp_path / "kubeconfig"
        if text is not None:
            file.write_text(text if isinstance(text, str) else json.dumps(text))
        return Api.connect(environ={"KUBECONFIG": str(file), **environ}, account=tmp_path / "no")

    return act


@pytest.mark.parametrize(("context", "namespace"), [("x", "ops"), ("y", "default")])
def test_a_kubeconfig_says_where_and_which_namespace(connect, context, namespace):
    api = connect(CONFIG | {"current-context": context})
    assert (api.server, api.namespace) == ("http://127.0.0.1:1", namespace)


def test_a_token_file_is_read_each_time(connect, tmp_path):
    file = tmp_path / "tokens" / "now"
    file.parent.mkdir()
    file.write_text("one")
    user = {"name": "u", "user": {"tokenFile": "tokens/now"}}
    configuration = connect(CONFIG | {"current-context": "x", "users": [user]})._configuration

    def token():
        return configuration.get_api_key_with_prefix("BearerToken")

    assert token() == "Bearer one"
    file.write_text("two")
    assert token() == "Bearer two"
    file.write_text("")
    assert token() == "Bearer two"
    file.unlink()
    assert token() == "Bearer two"


def test_a_token_goes_before_a_token_file(connect, tmp_path):
    (tmp_path / "file").write_text("of the file")
    user = {"name": "u", "user": {"token": "secret", "tokenFile": "file"}}
    configuration = connect(CONFIG | {"current-context": "x", "users": [user]})._configuration
    assert configuration.get_api_key_with_prefix("BearerToken") == "Bearer secret"


def test_a_pods_environment_without_its_account_is_no_pod(connect):
    api = connect(CONFIG | {"current-context": "x"}, KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert api.namespace == "ops"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(None, "no Kubernetes cluster is configured: .* no kubeconfig", id="absent"),
        pytest.param("", "cannot be used: .* empty", id="empty"),
        pytest.param("{", "cannot be used: while parsing", id="no-yaml"),
        pytest.param("[]", "cannot be used", id="a-list"),
        pytest.param("a string", "cannot be used", id="a-string"),
        pytest.param(CONFIG, "current-context", id="no-context-chosen"),
        pytest.param(CONFIG | {"current-context": "z"}, "name z", id="unknown-context"),
        pytest.param(
            CONFIG | {"current-context": "x", "clusters": [{"name": "c"}]},
            "cluster",
            id="no-server",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line_for_a_person(connect, text, says):
    with pytest.raises(Refused, match=says) as raised:
        connect(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda file: file.write_bytes(b"\xff"), "'utf-8'", id="no-utf-8"),
        pytest.param(lambda file: file.mkdir(), "Is a directory", id="a-folder"),
    ],
)
def test_a_kubeconfig_that_cannot_be_read_is_named(connect, tmp_path, make, says):
    file = tmp_path / "kubeconfig"
    make(file)
    with pytest.raises(Refused, match=rf"the kubeconfig {file} cannot be used: .*{says}"):
        connect(None)


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        pytest.param({"command": "/nowhere/login"}, "No such file .*/nowhere/login", id="absent"),
        pytest.param({"command": "false"}, "returned 1", id="failed"),
        pytest.param({"command": "echo", "args": ["hi"]}, "decode", id="no-credentials"),
        pytest.param({}, "'command'", id="no-command"),
    ],
)
def test_a_plugin_without_credentials_is_no_anonymous_person(connect, plugin, says):
    users = [{"name": "u", "user": {"exec": PLUGIN | plugin}}]
    with pytest.raises(Refused, match=f"no credentials for the API server: .*{says}"):
        connect(CONFIG | {"current-context": "x", "users": users})


def test_a_person_without_credentials_may_be_anonymous(connect):
    assert connect(CONFIG | {"current-context": "x", "users": [{"name": "u", "user": {}}]})
