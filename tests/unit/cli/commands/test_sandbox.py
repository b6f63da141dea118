"""What `poolkeeper sandbox` takes, without starting anything."""

import pytest

from poolkeeper.cli.commands.sandbox import Shape


@pytest.mark.parametrize(
    ("racks", "expected"),
    [("a,b", ["a", "b", "a"]), ("none", [None, None, None]), (",", [None, None, None])],
)
def test_racks_are_given_in_turn_or_to_no_broker(racks: str, expected: list[str | None]) -> None:
    shape = Shape(3, "3.9.2", True, 1.0, racks, 96, 128, "sandbox", None)
    assert [broker.rack for broker in shape.spec().brokers] == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--speed", "nan"], "'--speed': nan is no finite number"),
        (["--kafka", "4.0"], "--kafka: Kafka 4.0 has no ZooKeeper mode (expected 0.10.1 to 3.9)"),
        (["--kafka", "0.9"], "--kafka: Kafka 0.9.0 is too old (expected 0.10.1 to 3.9)"),
    ],
)
def test_what_no_sandbox_can_have_is_refused(run, tmp_path, words, said) -> None:
    code, out, err = run("sandbox", "up", "--simulated", "--root", tmp_path, *words)
    assert (code, out, list(tmp_path.iterdir())) == (1, "", [])
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--kafka: 'abc' (expected one of 3.9.2, 2.8.2, "),
        (["--simulated"], "--kafka: 'abc' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
    ],
)
def test_a_release_that_is_none_is_refused(run, tmp_path, words, said) -> None:
    code, out, err = run("sandbox", "up", "--root", tmp_path, "--kafka", "abc", *words)
    assert (code, out, list(tmp_path.iterdir())) == (1, "", [])
    assert err.startswith(said)


def test_its_output_is_asked_for_as_that_of_every_command(run, tmp_path) -> None:
    words = ("--name", "nobody", "--root", tmp_path, "-o", "json")
    assert run("sandbox", "down", *words) == (0, '{"ended": []}\n', "")
