"""What happens to all brokers: power fails, they are upgraded, restarted under a lock, migrated."""

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SESSION_MS
from poolkeeper.sandbox.simulation.profiles import Era, Profile
from simulation import kraft
from simulation.campaign import machines
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import RELEASES, RESTART_LOCK, Situation
from simulation.kraft import CONTROLLER

LATER_RELEASE = "2.6.3"
"""The last without topic ids: an earlier controller in between would take them from topics."""
WITH_MIGRATION = "3.9.2"


def power_fails(s: Situation) -> bool:
    """All brokers die at once, and return one after the other."""
    if s.dead:
        return False
    for id_ in s.live:
        s.died_ms.setdefault(id_, []).append(s.now_ms)
        s.cluster.simulation.kill(id_)
        s.later(s.dice.uniform(SESSION_MS, 20_000), lambda id_=id_: machines.start(s, id_))
    return True


def lock_restarts(s: Situation) -> bool:
    """Somebody takes the lock under which brokers are restarted, and gives it back."""
    if s.cluster.exists(RESTART_LOCK):
        return False
    s.cluster.create(RESTART_LOCK, b"rolling restart of jane")
    s.later(s.dice.uniform(5_000, 30_000), lambda: s.cluster.delete(RESTART_LOCK))
    return True


def release_changes(s: Situation) -> bool:
    """Controllers of a later release are elected, for a while perhaps one of the earlier again."""
    simulation = s.cluster.simulation
    before = simulation.profile
    if before.era is Era.RECORDED or not s.cluster.exists(CONTROLLER):
        return False
    after = Profile.of(LATER_RELEASE)
    _elect(s, after)
    if s.dice.random() < 0.5:
        s.later(5_000, lambda: _elect(s, before))
        s.later(s.dice.uniform(8_000, 20_000), lambda: _elect(s, after))
    return True


def migration_begins(s: Situation) -> bool:
    """A KRaft controller claims the cluster as Kafka's does; later the migration is reverted."""
    cluster = s.cluster
    if cluster.simulation.spec.kafka != WITH_MIGRATION or not cluster.exists(CONTROLLER):
        return False
    begin = kraft.claim(cluster)

    def revert() -> None:
        s.claims.append((begin, cluster.server.log[-1].zxid))
        kraft.revert(cluster)

    s.later(s.dice.uniform(8_000, 25_000), revert)
    return True


def _elect(s: Situation, profile: Profile) -> None:
    simulation = s.cluster.simulation
    simulation.profile = simulation.world.profile = profile
    if s.cluster.exists(CONTROLLER):
        s.cluster.delete(CONTROLLER)


RELEASES_OF = {
    Trouble.KRAFT_MIGRATION: (WITH_MIGRATION,),
    Trouble.RELEASE_RAISED: tuple(k for k in RELEASES if Profile.of(k).era is not Era.RECORDED),
}
"""By kind, the releases in which it can happen."""
UPKEEP = {
    Trouble.POWER_FAILS: power_fails,
    Trouble.RESTARTS_LOCKED: lock_restarts,
    Trouble.RELEASE_RAISED: release_changes,
    Trouble.KRAFT_MIGRATION: migration_begins,
}
