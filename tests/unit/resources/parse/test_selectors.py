"""Which namespaces a pool admits."""

import pytest

from poolkeeper.model.specs import AllowedNamespaces
from poolkeeper.resources.parse.selectors import admits

LABELS = {"team": "payments", "tier": "gold"}


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


def selecting(*expressions: dict[str, object], **labels: str) -> AllowedNamespaces:
    selector: dict[str, object] = {"matchExpressions": list(expressions)}
    return AllowedNamespaces(selector={**selector, "matchLabels": labels} if labels else selector)


@pytest.mark.parametrize(
    ("allowed", "admitted"),
    [
        pytest.param(None, True, id="all-where-nothing-is-said"),
        pytest.param(AllowedNamespaces(names=("shop", "bank")), True, id="by-name"),
        pytest.param(AllowedNamespaces(names=("bank",)), False, id="not-named"),
        pytest.param(AllowedNamespaces(names=()), False, id="nobody-is-named"),
        pytest.param(AllowedNamespaces(selector={}), True, id="an-empty-selector-selects-all"),
        pytest.param(selecting(team="payments"), True, id="by-a-label"),
        pytest.param(selecting(team="payments", tier="iron"), False, id="one-of-two-labels"),
        pytest.param(
            AllowedNamespaces(names=("bank",), selector={"matchLabels": {"team": "payments"}}),
            True,
            id="selected-though-not-named",
        ),
        pytest.param(selecting(expression("tier", "In", "gold", "iron")), True, id="in"),
        pytest.param(selecting(expression("tier", "In", "iron")), False, id="in-other-values"),
        pytest.param(selecting(expression("absent", "In", "iron")), False, id="in-without-label"),
        pytest.param(selecting(expression("tier", "NotIn", "iron")), True, id="not-in"),
        pytest.param(selecting(expression("tier", "NotIn", "gold")), False, id="not-in-its-value"),
        pytest.param(
            selecting(expression("absent", "NotIn", "x")), True, id="not-in-without-the-label"
        ),
        pytest.param(selecting(expression("team", "Exists")), True, id="exists"),
        pytest.param(selecting(expression("absent", "Exists")), False, id="does-not-exist"),
        pytest.param(selecting(expression("absent", "DoesNotExist")), True, id="is-absent"),
        pytest.param(selecting(expression("team", "DoesNotExist")), False, id="is-not-absent"),
        pytest.param(
            selecting(expression("team", "Exists"), tier="iron"), False, id="all-must-hold"
        ),
        pytest.param(
            selecting(expression("kubernetes.io/metadata.name", "In", "shop")),
            True,
            id="the-name-is-a-label-too",
        ),
    ],
)
def test_a_pool_admits(allowed: AllowedNamespaces | None, admitted: bool) -> None:
    assert admits(allowed, "shop", LABELS) is admitted
