"""Poolkeeper: a declarative topology reconciler for Kafka clusters that run on ZooKeeper."""

__version__ = "0.1.0"
