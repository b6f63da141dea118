"""ZooKeeper: sessions, bulk reads, a codec per znode, observation, the journal, versioned writes."""
