"""How many examples a law is tried with: few in `make unit`, more in `make test`, many in the soak.

    @examples(60)
    @given(instances())
    def test_no_pool_is_above_its_cap(instance): ...

A law without a number has as many as its profile says (`conftest`). One with a number, as its
instances are cheap or expensive, has more or fewer in proportion to `USUAL`: in `make unit` it has
`FEW` for `USUAL`, in `make test` `SOME`, in the soak `AT_LENGTH`; and `LEAST` at least, or half of
what others have if that is less.

An example of a comparison with Kafka's own classes is a batch of many inputs, drawn from a seed:
it has at most `BATCHES` (`compared`).
"""

from hypothesis import settings

USUAL = 18
FEW = 4
SOME = 9
LEAST = 3
AT_LENGTH = 1000
BATCHES = 250


def examples(number: int, **more: object) -> settings:
    """Return the settings of a law that is tried `number` times where others are `USUAL` times."""
    others = settings().max_examples
    least = min(LEAST, others // 2)
    return settings(max_examples=max(least, number * others // USUAL), **more)


def compared(number: int) -> settings:
    """Return the settings of a law of batches: `examples`, and at most `BATCHES`."""
    return settings(max_examples=min(BATCHES, examples(number).max_examples))
