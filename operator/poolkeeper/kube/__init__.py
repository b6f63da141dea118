"""The API server, as seen by threads: blocking calls with deadlines, in our words for errors."""
