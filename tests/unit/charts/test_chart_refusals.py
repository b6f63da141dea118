"""What the schema of the chart's values refuses: what Kubernetes or the operator would, later.

Each row is a value that once passed, or would have. That the API server takes what the schema takes
is in `tests/kubernetes/test_chart_values.py`.
"""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from chart.values import GONE, REFUSED, TAKEN

CHART = Path(__file__).parents[3] / "charts" / "poolkeeper"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def rows(table):
    for path, values in table.items():
        for value in values:
            shown = "none" if value is GONE else json.dumps(value)
            yield pytest.param(path, value, id=f"{path}={shown[:60]}")


def problems(path, value):
    values = copy.deepcopy(VALUES)
    *folders, last = path.split(".")
    at = values
    for folder in folders:
        at = at[folder]
    if value is GONE:  # null in a file takes the default away
        del at[last]
    else:
        at[last] = value
    return list(VALIDATOR.iter_errors(values))


@pytest.mark.parametrize(("path", "value"), list(rows(REFUSED)))
def test_what_would_fail_later_is_refused(path, value):
    assert problems(path, value)


@pytest.mark.parametrize(("path", "value"), list(rows(TAKEN)))
def test_what_works_is_taken(path, value):
    assert problems(path, value) == []
