"""The brokers' own protocol, read half: sizes, log directories, configs and versions.

Everything here is optional. ZooKeeper tells where replicas are; only brokers tell how big they are.
A broker that does not answer is named and left out, and the answers of the others are kept.

    with BrokerClient.open(("h1:9092", "h2:9092"), deadline_s=10) as brokers:
        enrichment = enrich.enrich_cluster(cluster, brokers, deadline_s=20)

`requests` sends requests, `config_validation` those about topic configs, `consumer_groups` those
about groups; `group_leaders` reads who leads them; `broker_configs` and `sizes` hold responses as
values, and `held_logs` puts sizes beside the replicas of a cluster; `connections` opens and closes
connections.
"""
