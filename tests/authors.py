"""Who wrote what a transaction log holds: the session that created `/brokers/ids/N` is broker N's.

Sessions of brokers that are gone again stay known, because the log holds their registration too.
"""

from collections.abc import Iterable, Mapping

from poolkeeper.sandbox.fake_zookeeper.transactions import Transaction


def broker_by_session(
    transactions: Iterable[Transaction], ids_path: str = "/kafka/brokers/ids"
) -> Mapping[int, int]:
    """Return broker id by session, for every session that ever registered a broker."""
    return {
        transaction.session: int(operation.path.rpartition("/")[2])
        for transaction in transactions
        for operation in transaction.changes
        if operation.kind.creates and operation.path.rpartition("/")[0] == ids_path
    }
