"""`kubectl poolkeeper status`, `plan`, `history` and `why`."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.kubectl import diff as diffs
from poolkeeper.cli.kubectl import explain, operators, tables
from poolkeeper.cli.kubectl.access import Body, UserAccess, status_of
from poolkeeper.cli.kubectl.explain import Explanation
from poolkeeper.cli.kubectl.options import by_user, cluster_option
from poolkeeper.cli.kubectl.readiness import readiness
from poolkeeper.cli.output import ink, printing
from poolkeeper.errors import Forbidden, Refused, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.kube.objects.plan_documents import PlanDocument

NO_PLAN = "No plan waits or runs: nothing is to be done, or a person must act first."
NO_CLUSTER = "there is no KafkaCluster"
OPERATOR_LOG = "`kubectl logs -n {} -l app.kubernetes.io/part-of=poolkeeper`"
KINDS = ("topic", "topics", "pkt")
OTHER_KINDS = frozenset(
    f"{kind}{plural}"
    for kind in ("pool", "resourcepool", "cluster", "kafkacluster", "rebalance", "adoption")
    for plural in ("", "s")
)


@click.command()
@by_user
@cluster_option
@options.output()
def status(access: UserAccess, cluster: str, output: str) -> None:
    """Show clusters, pools, and Topics that are not as declared; what waits, and for whom."""
    clusters = [access.cluster(cluster)] if cluster else access.clusters()
    pools = access.pools()  # also those that name a KafkaCluster which is not there
    listed = _listed_topics(access)
    if cluster:
        pools = [one for one in pools if one["spec"]["clusterRef"]["name"] == cluster]
        listed = listed.of_pools({one["metadata"]["name"] for one in pools})
    known = operators.operator_releases(access.api, clusters)
    if output == printing.JSON:
        printing.emit_json(
            {
                "clusters": [*map(_bare, clusters)],
                "pools": [*map(_bare, pools)],
                "topicsNotReady": [*map(_bare, listed.waiting)] if listed.may_list else None,
                "operators": [each.document for each in known],
            }
        )
        return
    if not (clusters or pools or listed.topics):
        printing.emit(NO_CLUSTER)
        return
    shown = ink.of_output()
    lines = tables.without_leader(known, shown)
    lines += tables.clusters(clusters, shown) if clusters else [NO_CLUSTER]
    for body in clusters:
        if text := readiness(body).message:
            lines += ["", *shown.fold(f"{body['metadata']['name']}: {text}", 2)]
        lines += tables.adoptions(body)
    if pools:
        lines += ["", *tables.pools(pools, shown)]
    lines += ["", listed.sentence]
    if listed.waiting:
        lines += tables.topics(listed.waiting, shown)
    printing.emit("\n".join(lines))


@click.command()
@by_user
@cluster_option
@click.option("--diff", is_flag=True, help="As a diff of replicas, partitions and configs.")
@options.output()
def plan(access: UserAccess, cluster: str, diff: bool, output: str) -> None:
    """Show the plan that waits or runs, whole, as `poolkeeper plan` would print it."""
    body = access.cluster(cluster)
    found = whole_plan(access, body)
    if output == printing.JSON:
        printing.emit_json(None if found is None else found.plan)
    elif found is None:
        said = readiness(body)
        if said.reason:
            printing.emit(NO_PLAN)
        printing.emit(said.message)
    elif diff:
        if found.plan is None:
            raise Refused("the plan is too large to be kept in full: see `poolkeeper show`")
        printing.emit("\n".join(diffs.lines(found.plan)) or "no changes")
    else:
        printing.emit(found.text)
        approval = status_of(body)["plan"].get("approval", "")
        printing.emit(f"\n{found.hash}: {approval}")


@click.command()
@by_user
@cluster_option
@options.output()
def history(access: UserAccess, cluster: str, output: str) -> None:
    """Show the runs that ended last: when, why, what they moved, and who approved them."""
    found = status_of(access.cluster(cluster)).get("runs") or []
    if output == printing.JSON:
        printing.emit_json({"runs": found})
    else:
        printing.emit("\n".join(tables.runs(found, ink.of_output())))


@click.command()
@by_user
@click.argument("named", metavar="topic/NAME")
@options.output()
def why(access: UserAccess, named: str, output: str) -> None:
    """Say why a Topic is as it is: its state, its pool's and cluster's, and what the plan does.

    NAME is the Topic's, in the namespace of -n or of the context, or NAMESPACE/NAME.
    """
    topic = _topic(access, named)
    pool, cluster, found, unread = None, None, None, ""
    try:
        pool = access.object("ResourcePool", (topic["spec"].get("poolRef") or {}).get("name", ""))
        reference = {} if pool is None else pool["spec"].get("clusterRef") or {}
        cluster = access.object("KafkaCluster", reference["name"]) if reference else None
        document = None if cluster is None else access.plan(cluster)
        found = None if document is None else document.plan
    except Forbidden as forbidden:  # who may read only a namespace learns what its Topic says
        unread = str(forbidden)
    known = operators.operator_releases(access.api, [cluster] if cluster is not None else [])
    explained = Explanation(topic, pool, cluster, found, unread, known)
    if output == printing.JSON:
        printing.emit_json(explain.as_data(explained))
    else:
        shown = ink.of_output()
        lines = [line for each in explain.lines(explained) for line in shown.fold(each, 4)]
        printing.emit("\n".join(lines))


def whole_plan(access: UserAccess, cluster: Body) -> PlanDocument | None:
    """Return the plan that the cluster's status names; None if it names none.

    Raises `Unavailable` while another one lies in its place.
    """
    found = access.plan(cluster)
    status = status_of(cluster)
    named = status.get("plan") or {}
    if found is None and named:
        name, hash_ = cluster["metadata"]["name"], named["hash"][: printing.HASH_DIGITS]
        namespace, _, _ = (status.get("planDocument") or "").partition("/")
        why = f"; if it does not come, {OPERATOR_LOG.format(namespace)} says why"
        raise Unavailable(
            f"the plan {hash_} of {name} is being written: try again{why if namespace else ''}"
        )
    return found


@frozen
class _ListedTopics:
    """The Topics that a person may list: of all namespaces, or of one; or none at all."""

    topics: Sequence[Body]
    namespace: str = ""
    may_list: bool = True

    def of_pools(self, pools: Collection[str]) -> "_ListedTopics":
        """Return those that name one of these pools."""
        chosen = [one for one in self.topics if one["spec"].get("poolRef", {}).get("name") in pools]
        return replace(self, topics=chosen)

    @property
    def waiting(self) -> Sequence[Body]:
        """Those that are not as declared."""
        return [one for one in self.topics if readiness(one).status != "True"]

    @property
    def sentence(self) -> str:
        """How many are as declared."""
        if not self.may_list:
            return f"Topics: you may not list those of namespace {self.namespace}"
        where = f" in namespace {self.namespace}" if self.namespace else ""
        ready = len(self.topics) - len(self.waiting)
        return f"Topics{where}: {ready:,} of {len(self.topics):,} as declared"


def _listed_topics(access: UserAccess) -> _ListedTopics:
    try:
        topics, all_of_them = access.topics()
    except Forbidden:  # the roles of a platform's team need not have Topics
        return _ListedTopics((), access.namespace, may_list=False)
    return _ListedTopics(topics, "" if all_of_them else access.namespace)


def _topic(access: UserAccess, named: str) -> Body:
    kind, slash, rest = named.partition("/")
    if slash and kind.lower() in OTHER_KINDS:
        raise Refused(f"why is about Topics, not {named}: see `kubectl poolkeeper status`")
    if not slash or kind not in KINDS:
        rest = named
    namespace, slash, name = rest.rpartition("/")
    if not name:
        raise Refused(f"{named} names no Topic (expected NAME or NAMESPACE/NAME)")
    found = access.object("Topic", name, namespace or access.namespace)
    if found is not None:
        return found
    others = [
        f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
        for one in access.topics()[0]
        if name in (one["metadata"]["name"], (one.get("spec") or {}).get("topicName"))
    ]
    hint = f" (there is {', '.join(others[:5])})" if others else ""
    raise Refused(f"there is no Topic {name} in namespace {namespace or access.namespace}{hint}")


def _bare(body: Body) -> Body:
    """Return a body without what the API server keeps for itself."""
    metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return {**body, "metadata": metadata}
