import pytest

from poolkeeper.errors import InvalidInput
from poolkeeper.resources.checks import folder
from poolkeeper.resources.checks.folder_conflicts import ClaimIndex, overlap


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param("orders", "orders", True, id="the-same"),
        pytest.param("orders", "returns", False, id="two-names"),
        pytest.param("a.b", "a[.]b", False, id="only-what-is-plain"),
        pytest.param(r"legacy\.old", r"legacy\..*", True, id="a-name-and-its-pattern"),
        pytest.param(r"legacy\..*", r"legacy\.a\..*", True, id="a-prefix-of-the-other"),
        pytest.param(r"^legacy\..*$", r"legacy\.a\..*", True, id="anchors-make-no-difference"),
        pytest.param(r"new\..*", r"legacy\..*", False, id="two-prefixes"),
        pytest.param("ab*", "ac", False, id="a-repeated-letter-is-no-plain-text"),
        pytest.param("ab*", "a", True, id="a-repeated-letter-may-be-absent"),
        pytest.param(".*", "orders", True, id="anything"),
    ],
)
def test_claims_overlap(a, b, expected):
    assert overlap(a, b) is expected
    assert overlap(b, a) is expected


def _pools(*claims: str) -> str:
    """Pools of one cluster with these claims, a broker each."""
    return "".join(
        "---\napiVersion: poolkeeper.dev/v1alpha1\nkind: ResourcePool\n"
        f"metadata: {{name: pool-{number}}}\n"
        f"spec: {{clusterRef: {{name: main}}, brokers: {{ids: [{number}]}}, claims: [{each}]}}\n"
        for number, each in enumerate(claims)
    )


def _overlaps(*claims: str) -> list[str]:
    cluster = (
        "apiVersion: poolkeeper.dev/v1alpha1\nkind: KafkaCluster\nmetadata: {name: main}\n"
        "spec: {zookeeper: {connect: 'zk:2181'}}\n"
    )
    try:
        folder.load_texts({"all.yaml": cluster + _pools(*claims)})
    except InvalidInput as wrong:
        return [problem.message.partition(" (")[0] for problem in wrong.problems]
    return []


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        pytest.param(("a.*", "'ab', c", "abc.*"), [(1, "ab", "a.*", 0), (2, "abc.*", "a.*", 0)]),
        pytest.param(("'a|b', b", "b"), [(1, "b", "a|b", 0)]),
        pytest.param(
            ("'[ab]c'", "ac", "'[ab]c'"), [(1, "ac", "[ab]c", 0), (2, "[ab]c", "[ab]c", 0)]
        ),
        pytest.param(("'a[.]b'", "'a[.]c'"), []),
    ],
    ids=["the first of several", "alternatives", "no plain text before", "neither is plain"],
)
def test_a_claim_is_told_of_the_first_that_it_overlaps(
    claims: tuple[str, ...], told: list[tuple[int, str, str, int]]
) -> None:
    assert _overlaps(*claims) == [
        f"'{claim}' overlaps '{other}' of pool 'pool-{holder}'" for _, claim, other, holder in told
    ]


@pytest.mark.slow
def test_thousands_of_claims_are_not_compared_with_each_other() -> None:
    count = 0

    def counted(a: str, b: str) -> bool:
        nonlocal count
        count += 1
        return overlap(a, b)

    index = ClaimIndex(counted)
    for number in range(4_000):
        claim = (f"team-{number}", rf"team-{number}\..*", rf"team-{number}x[0-9]+")[number % 3]
        assert index.first_overlap(claim) is None
        index.add(claim, None)
    assert count < 4_000 * 20
