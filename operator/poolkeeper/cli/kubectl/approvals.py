"""Which hashes approve what a person names: the whole plan, some of its parts, or adoptions.

The command `approve`, which writes them to the resource, is in `writing`.

A part that comes after others is not approved without them: it would wait for them, or be planned
anew once they are done, under another hash. What the Topics of a namespace ask to take over is
named `adoption/NAMESPACE`, beside any plan.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.text import first

PREFIX_MIN = 8
ALGORITHM = "sha256:"
_SHOWN = 20

Json = Mapping[str, Any]


@frozen
class NamedHash:
    """What is approved: a hash, and what it is called (`plan`, or the name of a part)."""

    hash: str
    name: str


WHOLE = "plan"


def adoptions(status: Json) -> tuple[Json, ...]:
    """Return the adoptions that namespaces ask for, as parts that wait for no other part."""
    return tuple(
        {"name": f"adoption/{each['namespace']}", "hash": each["hash"]}
        for each in status.get("adoptions") or ()
    )


def is_prefix(given: str, hash_: str) -> bool:
    """Whether these are the first digits of the hash, and enough of them."""
    digits = given.removeprefix(ALGORITHM)
    return len(digits) >= PREFIX_MIN and hash_.removeprefix(ALGORITHM).startswith(digits)


def approvals_of(
    plan_hash: str, parts: Sequence[Json], names: Sequence[str], approved: Sequence[str]
) -> tuple[NamedHash, ...]:
    """Return the approvals of what was named; of the whole plan, if nothing was.

    `plan_hash` is empty if no plan waits. `approved` are the hashes that are approved already.
    Raises `Refused` for a name that is none, and for a part whose predecessors are neither named
    nor approved.
    """
    if not names:
        return (NamedHash(plan_hash, WHOLE),)
    found = tuple(_named(plan_hash, parts, name) for name in names)
    hashes = {each.hash for each in found} | set(approved)
    if plan_hash not in hashes:
        for each in found:
            _refuse_without_predecessors(each, parts, hashes)
    return tuple(dict.fromkeys(found))


def _named(plan_hash: str, parts: Sequence[Json], name: str) -> NamedHash:
    whole = [NamedHash(plan_hash, WHOLE)] if plan_hash else []
    known = [*whole, *(NamedHash(part["hash"], part["name"]) for part in parts)]
    for each in known:
        if name == each.name or is_prefix(name, each.hash):
            return each
    waiting = first([each.name for each in known], _SHOWN)
    raise Refused(f"{name!r} is no part of the plan that waits, nor its hash (waiting: {waiting})")


def _refuse_without_predecessors(
    approval: NamedHash, parts: Sequence[Json], hashes: set[str]
) -> None:
    by_name = {part["name"]: part for part in parts}
    part = by_name.get(approval.name)
    if part is None:
        return
    missing = [
        name
        for name in part.get("after") or ()
        if name in by_name and by_name[name]["hash"] not in hashes
    ]
    if missing:
        raise Refused(
            f"{approval.name} comes after {first(missing, _SHOWN)}: approve"
            f" {'that' if len(missing) == 1 else 'those'} as well"
        )


def with_approvals(
    spec: Json, approvals: Sequence[NamedHash], current: Sequence[str] | None, user: str
) -> dict[str, Any]:
    """Return `spec.approval` with these approvals; what is of no plan at hand is left out.

    `current` are the hashes of all that waits; `None`: all earlier approvals stay. `user` approves,
    if known. Who approved before is not changed.
    """
    before = dict(spec.get("approval") or {})
    approved = before.pop("plans", None) or ()
    known = before.pop("by", None) or {}
    kept = [each for each in approved if current is None or each in current]
    added = [each.hash for each in approvals if each.hash not in kept]
    by = {hash_: who for hash_, who in known.items() if hash_ in kept}
    if user:
        by |= dict.fromkeys(added, user)
    return {**before, "plans": [*kept, *added], **({"by": by} if by else {})}


def lines_to_commit(approval: Json, named: Mapping[str, str]) -> list[str]:
    """Return the lines of the manifest; `named` says what hashes are, as comments.

    Who approves is then the account of the GitOps controller, whose name nobody knows here.
    """
    lines = ["spec:", "  approval:", "    plans:"]
    for plan in approval["plans"]:
        comment = f"  # {named[plan]}" if plan in named else ""
        lines.append(f"      - {plan}{comment}")
    return lines
