"""ZooKeeper: sessions, bulk reads, znode codecs, observation, the journal, versioned writes."""
