"""What whoever imitates a server must promise, and the server itself keeps.

A contract is a class of tests over a fixture `world`; each side has a module with its own worlds.
"""

import pytest

pytest.register_assert_rewrite("contracts.sessions", "contracts.session_acls")
