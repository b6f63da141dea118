"""Pure: what should live where, by which path, in which stages, and the proof that it is lawful."""
