"""`poolkeeper show`."""

from typing import Any

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.plans import plan_text
from poolkeeper.errors import DamagedNode, Refused
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.journal import journal, pending_plan, records

PREFIX_MIN = 8
ALGORITHM = "sha256:"


@click.command(
    epilog="""\b
    Examples:
      poolkeeper show main 5f2a91c4 -f manifests/
      poolkeeper show 5f2a91c4 --zookeeper zk-1:2181/kafka
    """
)
@click.argument("words", metavar="[CLUSTER] HASH", nargs=-1)
@options.address_options
@options.output()
def show(words: tuple[str, ...], output: str, **given: Any) -> None:
    """Show the plan that is stored in the cluster under HASH: of the run, or waiting for approval.

    HASH is as `status` shows it; `sha256:` and its end may be left out. CLUSTER as for `status`.
    """
    if not 1 <= len(words) <= 2:
        raise click.UsageError("expected HASH, or CLUSTER and HASH")
    target = targets.reachable_target(
        options.address_of(words[0] if len(words) == 2 else None, **given)
    )
    with cluster_reading.session(target) as session:
        cluster_reading.warn_of_other_cluster(session, target)
        plan = stored_plan(session, words[-1])
        observed = cluster_reading.read_cluster(session, target, sizes=False)
        owned = records.read(session)
    if output == printing.JSON:
        printing.emit_json(plan_json.to_json(plan))
    else:
        desired = target.desired or targets.empty_desired(target)
        printing.emit(
            plan_text.render(
                plan,
                desired,
                observed.cluster,
                ink=ink.of_output(),
                records=owned,
            )
        )


def stored_plan(session: Session, hash_prefix: str) -> Plan:
    """Return the stored plan with that hash, of the run or pending; raises Refused."""
    digits = hash_prefix.removeprefix(ALGORITHM)
    if len(digits) < PREFIX_MIN:
        raise Refused(
            f"{hash_prefix!r} is too short (expected {PREFIX_MIN} digits of the hash or more)"
        )
    run, run_damage = our_nodes.try_reading(lambda: journal.read_run(session))
    asked, asked_damage = our_nodes.try_reading(lambda: pending_plan.read(session))
    if run is not None and run.plan.removeprefix(ALGORITHM).startswith(digits):
        document = journal.read_document(session, run)
        if document is None:
            raise Refused(
                f"plan {run.plan} was not stored to its end; the next executor discards it"
            )
        return document.plan
    if asked is not None and asked.hash.removeprefix(ALGORITHM).startswith(digits):
        return asked
    for damage in (run_damage, asked_damage):
        if damage is not None:
            raise DamagedNode(damage)
    kept = [hash_ for hash_ in (run and run.plan, asked and asked.hash) if hash_]
    if not kept:
        raise Refused("no run is recorded and no plan waits for approval, so none is stored")
    raise Refused(f"no plan {hash_prefix} is stored (stored is {' and '.join(kept)})")
