"""The check that refuses decisions on sentences; the offences are those that the code once had."""

import pytest

from checks.sentences import offences_in

ONCE = [
    'waits = tuple(w for w in outcome.waits if not w.startswith("waits for approval"))',
    '(waits if sentence.startswith("waits") else did).append(sentence)',
    'kept = [wait for wait in found if not wait.startswith(("stage ", "the brokers take"))]',
    "told = [wait for wait in outcome.waits if not _CHATTER.match(wait)]",
    "waiting = any(wait.startswith(APPROVAL_WAIT) for wait in outcome.waits)",
    "late = any(wait.endswith(LATE_WAIT) for wait in outcome.waits)",
    "kinds = tuple(wait.translate(digits) for wait in outcome.waits)",
    "why = (offer.held, *(wait for wait in why if wait != PAUSED))",
    "real = [p for p in problems if not p.message.startswith((LEFT_OUT, DELAYED))]",
    'late = isinstance(error, TIMEOUTS) or "timed out" in str(error)',
]
OTHERS = [
    'if outcome.errand.why[0].lower() == "withdrawn":\n    pass',
    'for said in outcome.did:\n    if "stage" in said:\n        pass',
    're.search("stage [0-9]+", message)',
    'try:\n    pass\nexcept Refused as no:\n    late = "unlawful" in str(no)',
    'match message:\n    case "paused":\n        pass',
    'paused = "the cluster is paused" in outcome.waits',
    'gone = message in ("gone", "away")',
]
ALLOWED = [
    "late = any(wait.reason is WaitReason.STAGE_DEADLINE for wait in outcome.waits)",
    'if message != self._said_before and message != "":\n    print(message)',
    'moving = remark.reason == "Moving"',
    'known = path.startswith("/config/")',
    'reason = str(error).removeprefix("Bad ")',
    "chatter = wait.reason in _CHATTER",
    'late = "timed out" in str(error)  # their words: kafka-python has no class for it',
]


@pytest.mark.parametrize("source", [*ONCE, *OTHERS])
def test_a_decision_on_a_sentence_is_refused(source):
    assert offences_in(source)


@pytest.mark.parametrize("source", ALLOWED)
def test_decisions_on_values_and_words_that_are_only_shown_are_not(source):
    assert offences_in(source) == ()


@pytest.mark.parametrize(
    "excuse", ["# noqa", "# their words:", "# their words: yes", "# type: ignore"]
)
def test_an_excuse_needs_a_reason(excuse):
    assert offences_in(f'late = "timed out" in str(error)  {excuse}')


def test_an_offence_tells_where_it_is():
    (found,) = offences_in('\nlate = "timed out" in message\n', "zk/session.py")
    assert str(found) == "zk/session.py:2: looks for words in a sentence"
