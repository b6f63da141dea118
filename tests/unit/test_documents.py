"""Documents name files and commands that exist."""

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import pem_texts
from poolkeeper.cli.kubectl.main import root as plugin
from poolkeeper.cli.main import COMMANDS, root
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse import client_config, schemas

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "operator" / "poolkeeper"
PAGES = sorted((ROOT / "docs").glob("*.md"))
TOLD = [*PAGES, ROOT / "README.md", ROOT / "charts/poolkeeper/README.md"]
TOLD += sorted((ROOT / "examples").rglob("*.md"))
DOCUMENTS = ("docs/architecture.md", "CONTRIBUTING.md")
PATH = re.compile(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|md|toml|yaml))`")


def paths(document: str) -> list[str]:
    """All that stands between backquotes and looks like a file or a folder."""
    return PATH.findall((ROOT / document).read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document: str) -> None:
    named = [path for path in paths(document) if not path.startswith(("/", "."))]
    assert len(named) > 10
    assert [p for p in named if not (ROOT / p).exists() and not (PACKAGE / p).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)", (ROOT / document).read_text()))
    assert named
    assert named - targets == set()


@pytest.mark.parametrize(
    "document", ["CONTRIBUTING.md", "README.md", *(f"docs/{file.name}" for file in PAGES)]
)
def test_every_command_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    named = set(re.findall(r"(?:`|^|^\$ )poolkeeper ([a-z]+)", text, re.MULTILINE))
    assert named - set(COMMANDS) == set()


def test_no_page_installs_from_an_index_to_which_nobody_publishes() -> None:
    """A name that is free there may be anybody's tomorrow."""
    spans = [span for page in TOLD for span in page.read_text().split("`")]
    installs = [span for span in spans if span.startswith("pip install")]
    assert len(installs) >= 4
    assert [span for span in installs if "poolkeeper" in span] == []


def test_links_of_documents_lead_somewhere() -> None:
    dead = []
    for document in (*PAGES, ROOT / "README.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            dead += [] if (document.parent / link).exists() else [f"{document.name}: {link}"]
    assert dead == []


FIELD = re.compile(r"\b((?:spec|status)(?:\.[a-zA-Z]+)+)")


@pytest.mark.parametrize("page", TOLD, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_field_of_a_resource_exists(page: Path) -> None:
    named = set(FIELD.findall(page.read_text()))
    assert {f for f in named if not any(has(body, f.split(".")) for body in bodies())} == set()


@cache
def bodies() -> list[Mapping[str, Any]]:
    """The fields of each kind of resource."""
    definitions = [yaml.safe_load(file.read_text()) for file in (ROOT / "crds").glob("*.yaml")]
    versions = [each["spec"]["versions"][0]["schema"] for each in definitions]
    return [each["openAPIV3Schema"]["properties"] for each in versions]


def has(fields: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Whether these fields of a schema lead somewhere by a path; entries of lists count as one."""
    found = fields.get(path[0])
    if found is None or not path[1:]:
        return found is not None
    found = found.get("items", found)
    return "additionalProperties" in found or has(found.get("properties", {}), path[1:])


OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]+)")


TYPED = re.compile(r"`([^`\n]+)`|^(?:\$ )?((?:kubectl )?poolkeeper .*)$", re.MULTILINE)


@pytest.mark.parametrize("page", TOLD, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_of_a_command_exists(page: Path) -> None:
    """Options that stand behind a command of ours, in the same piece of code."""
    unknown = set()
    for code in TYPED.findall(page.read_text()):
        for typed in re.split(r"[|;&]", "".join(code)):
            commands = commands_of(typed.split())
            known = {option for each in commands for one in each.params for option in one.opts}
            unknown |= set(OPTION.findall(typed)) - known - {"--help"} if commands else set()
    assert unknown == set()


def commands_of(words: Sequence[str]) -> list[click.Command]:
    """The commands that these words may call; of a word alone, those of that name."""
    match words:
        case ["kubectl", "poolkeeper", *rest]:
            found = [command_of(plugin, rest)]
        case ["poolkeeper", *rest]:
            found = [command_of(root, rest)]
        case _:
            found = [command_of(group, words) for group in (root, plugin)]
    return [each for each in found if each is not None]


def command_of(group: click.Group, words: Sequence[str]) -> click.Command | None:
    """The command below a group that these words call, None if there is none."""
    command: click.Command | None = group
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    return None if isinstance(command, click.Group) else command


@pytest.mark.parametrize("group", [root, plugin], ids=["poolkeeper", "kubectl-poolkeeper"])
def test_every_option_says_what_it_is(group: click.Group) -> None:
    untold = [
        (command.name, option.opts)
        for command in commands_below(group)
        for option in command.params
        if isinstance(option, click.Option) and not (option.help or option.hidden)
    ]
    assert untold == []


@pytest.mark.parametrize("group", [root, plugin], ids=["poolkeeper", "kubectl-poolkeeper"])
def test_every_option_says_what_it_takes_and_its_default_in_one_way(group: click.Group) -> None:
    odd = []
    for command in commands_below(group):
        context = click.Context(command)
        for option in command.params:
            if isinstance(option, click.Option) and option.help and not option.hidden:
                value = "" if option.is_flag else option.make_metavar(context)
                said = re.sub(r" ?\[default: [^]]+\]$", "", option.help)
                types = re.search(r"\b(TEXT|INTEGER|FLOAT|PATH|FILENAME|DIRECTORY)\b", value)
                if types or re.search(r"\[[^]]*\]\.?$|[dD]efault", said) or not said.endswith("."):
                    odd.append((command.name, option.opts, value, option.help))
    assert odd == []


@pytest.mark.parametrize(
    ("name", "group"), [("poolkeeper", root), ("kubectl poolkeeper", plugin)], ids=str
)
def test_examples_of_helps_can_be_typed(name: str, group: click.Group) -> None:
    helps = [each.epilog or "" for each in commands_below(group)]
    examples = re.findall(rf"^ +{name} (.+)$", "\n".join(helps), re.MULTILINE)
    assert len(examples) > 3
    for example in examples:
        words, command = shlex.split(example), group
        context = click.Context(group)
        while isinstance(command, click.Group):
            found = command.get_command(context, words.pop(0))
            assert found is not None, example
            command, context = found, click.Context(found, parent=context)
        given, rest, _ = command.make_parser(context).parse_args(args=list(words))
        assert rest == [], example
        missing = [each.name for each in command.params if each.required and each.name not in given]
        assert missing == [], example


def commands_below(command: click.Command) -> Iterator[click.Command]:
    """The command, and if it is a group, all of it that people are told of."""
    if not command.hidden:
        yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands_below(found)


def test_anchors_of_links_are_titles() -> None:
    dead = []
    for document in TOLD:
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
            target = document.parent / link if link else document
            titles = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            dead += [] if anchor in anchors else [f"{document.name}: {link}#{anchor}"]
    assert dead == []


def test_the_page_on_tenancy_names_what_there_is() -> None:
    page = (ROOT / "docs" / "tenancy.md").read_text()
    policies = {file.stem for file in (ROOT / "policies").glob("*.yaml")}
    assert set(re.findall(r"^\| \[`([a-z-]+)`\]", page, re.MULTILINE)) == policies
    assert set(re.findall(r"`poolkeeper ([a-z]+)", page)) <= set(COMMANDS)
    roles = (ROOT / "charts/poolkeeper/templates/rbac-users.yaml").read_text()
    for role in re.findall(r"ClusterRole `…-([a-z]+)`", page):
        assert f"name: {{{{ $fullname }}}}-{role}\n" in roles
    spec = schemas.kinds()["KafkaCluster"].schema["properties"]["spec"]["properties"]
    for field in re.findall(r"`spec\.([a-zA-Z]+)`", page):
        assert (
            field
            in spec | schemas.kinds()["ResourcePool"].schema["properties"]["spec"]["properties"]
        )
    conditions = (PACKAGE / "resources/status/topic/claim_rules.py").read_text()
    for reason in ("AdoptionRequired", "AdoptionRefused", "NameNotAllowed", "TopicConflict"):
        assert f"`{reason}`" in page
        assert f'"{reason}"' in conditions


def test_the_manifest_on_tenancy_is_one() -> None:
    page = (ROOT / "docs" / "tenancy.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    head = "apiVersion: poolkeeper.dev/v1alpha1\nkind: KafkaCluster\nmetadata: {name: main}\n"
    text = head + block.replace("spec:\n", "spec:\n  zookeeper: {connect: 'zk:2181'}\n", 1)
    (spec,) = folder.load_texts({"m.yaml": text}).clusters
    assert spec.adoption == Adoption(AdoptionPolicy.APPROVE, ("migration",), ("legacy\\..*",))
    assert (spec.system_topics, spec.topic_prefix) == (("kafka-services",), "{namespace}.")


def test_the_client_configuration_on_security_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "ca.pem").write_text(pem_texts.CERTIFICATE)
    (tmp_path / "me.pem").write_text(pem_texts.CERTIFICATE)
    (tmp_path / "me.key").write_text(pem_texts.KEY)
    config = client_config.parse(textwrap.dedent(block), tmp_path / "client.yaml")
    assert None not in (config.zookeeper, config.zookeeper_tls, config.brokers, config.brokers_tls)


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {folder.parent.name for folder in PACKAGE.glob("*/__init__.py")}
    assert {room for room in rooms if not re.search(rf"\b{room}\b", page)} == set()


def test_modules_that_are_named_by_their_room_exist() -> None:
    """`planning.run_state.returns`, for example, or a name of a module: `zk.znodes.RUN`."""
    rooms = "|".join(folder.parent.name for folder in PACKAGE.glob("*/__init__.py"))
    dotted = re.compile(rf"`(?:poolkeeper\.)?((?:{rooms})(?:\.\w+)+)`")
    dead = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for named in dotted.findall(file.read_text()):
            room, _, name = named.rpartition(".")
            if not source(named) and not re.search(rf"\b{name}\b", source(room)):
                dead.append(f"{file.relative_to(PACKAGE)}: {named}")
    assert dead == []


def source(module: str) -> str:
    """The text of a module or room by its dotted name; empty if there is none."""
    path = PACKAGE / module.replace(".", "/")
    files = (path.with_suffix(".py"), path / "__init__.py")
    return "".join(file.read_text() for file in files if file.exists())


def test_every_module_of_a_room_is_named_where_the_room_says_how_to_read_it() -> None:
    """Of rooms inside rooms: their docstring is the list of their modules."""
    missing = []
    for init in sorted(PACKAGE.rglob("*/*/__init__.py")):
        named = set(re.findall(r"`([a-z0-9_]+)`", init.read_text()))
        modules = {f.stem for f in init.parent.glob("*.py")} - {"__init__"}
        missing += [f"{init.parent.name}.{m}" for m in sorted(modules - named)]
    assert missing == []
