"""Metrics, probes and log lines of a running process. Nothing here decides anything."""
