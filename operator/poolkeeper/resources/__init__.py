"""Manifests and API bodies to specs with all problems at once; specs back to manifests."""
