"""Frozen values that all rooms share: the cluster as observed, the specs as declared, the plan."""
