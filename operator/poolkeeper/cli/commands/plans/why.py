"""`poolkeeper why`: the answer is made and worded in `cli.output.plans.topic_text`."""

from typing import Any

import click

from poolkeeper.cli.commands.plans.current_plan import current_plan
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, status_reading, targets
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.plans import topic_text
from poolkeeper.zk import znodes


@click.command(
    epilog="""\b
    Examples:
      poolkeeper why orders -f manifests/
      poolkeeper why main orders -f manifests/
      poolkeeper why orders --zookeeper zk-1:2181/kafka
    """
)
@click.argument("words", metavar="[CLUSTER] TOPIC", nargs=-1)
@options.address_options
@options.output()
def why(words: tuple[str, ...], output: str, **given: Any) -> None:
    """Show where a topic's replicas are, where they should be, and what they wait for.

    The plan is the one that is carried out or waits for approval; if there is none and manifests
    are named, the one that `plan` makes. TOPIC is the name in Kafka; CLUSTER as for `status`.
    """
    if not 1 <= len(words) <= 2:
        raise click.UsageError("expected TOPIC, or CLUSTER and TOPIC")
    target = targets.target(options.address_of(words[0] if len(words) == 2 else None, **given))
    with cluster_reading.session(target) as session:
        cluster_reading.warn_of_other_cluster(session, target)
        # The whole cluster is read, and a plan made, for a name that is right alone.
        topic_text.require_known(words[-1], session.children(znodes.TOPICS) or (), target.desired)
        status = status_reading.read(session, target)
    in_flight = () if status.run is None else status.run.in_flight
    seen = current_plan(target, forecast=False)
    found = topic_text.answer(words[-1], seen, status.waits, in_flight)
    if output == printing.JSON:
        printing.emit_json(topic_text.as_data(found))
    else:
        printing.emit(topic_text.render(found, ink.of_output()))
