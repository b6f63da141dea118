"""The configs that brokers have in force, and whether a throttle is among them.

Kafka 2.0 hides the value of a broker's throttle rate as a secret, but says that one is set; from
2.8 on it is shown. That is the difference between `None` and an answer in `is_throttle_applied`.
"""

from collections.abc import Mapping

from poolkeeper.frozen import frozen


@frozen
class Setting:
    """One config key in force: `source` as Kafka names it, `value` None if it is hidden."""

    value: str | None
    source: str

    @property
    def dynamic(self) -> bool:
        """Whether it comes from the broker's own dynamic config in ZooKeeper."""
        return self.source == "DYNAMIC_BROKER_CONFIG"


def is_throttle_applied(
    config: Mapping[str, Setting], expected: Mapping[str, str | None]
) -> bool | None:
    """Compare a broker's config with dynamic values that it shall have."""
    told = True
    for key, value in expected.items():
        found = config.get(key)
        if found is None or not found.dynamic:
            if value is not None:
                return False
        elif value is None:
            return False
        elif found.value is None:
            told = False
        elif found.value != value:
            return False
    return True if told else None
