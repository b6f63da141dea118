"""Metrics, probes, log lines and the audit trail of a process. Nothing here decides anything."""
