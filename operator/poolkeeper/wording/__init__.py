"""The messages for people, made from waits, actions and refusals; no other module words them.

Commands, statuses, logs and reports call `sentence`. No module that decides may import this
package, because a message can be reworded at any time. Decisions are made on reasons and kinds.
`sentences` takes any value; `waits` (with those of `partitions`, `cancellations`, `requests`,
`throttles` and `log_dirs`), `actions` and `refusals` have a sentence for each kind of their values,
made of `pieces`; `person_requests` for each answer to a person.
"""

from poolkeeper.wording.person_requests import answer_text
from poolkeeper.wording.pieces import mode_line
from poolkeeper.wording.refusals import drift_text
from poolkeeper.wording.sentences import (
    error_text,
    lateness_text,
    punctuality_text,
    rate_text,
    sentence,
    sentences,
)

__all__ = [
    "answer_text",
    "drift_text",
    "error_text",
    "lateness_text",
    "mode_line",
    "punctuality_text",
    "rate_text",
    "sentence",
    "sentences",
]
