"""The brokers' own protocol, read half: sizes, log directories, configs and versions.

Everything here is optional knowledge. ZooKeeper tells where replicas are; only brokers tell how big
they are. So a broker that does not answer is named and left out, and nothing that was asked of the
others is lost.

    with Brokers.open(("h1:9092", "h2:9092"), deadline_s=10) as brokers:
        enriched, warnings = enrich.enriched(cluster, brokers, deadline_s=20)

`protocol` asks, `sizes` are the answers as values, `clients` opens and ends connections.
"""
