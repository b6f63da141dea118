"""What the tests of the chart share: rendering it, and reading what was rendered."""
