"""How many keys change partition when a topic gets more partitions.

A record with a key goes to partition `h mod n`, where h is a hash of the key and n the number of
partitions (`partitioners`). A key with hash h stays if `h mod n == h mod m`. Both remainders repeat
after `lcm(n, m)` hashes. Among these the remainders are equal exactly for the first `min(n, m)`:
if both are q, then q is below both counts, and h is q by the Chinese remainder theorem. So

    share that stays   =  min(n, m) / lcm(n, m)         growth: gcd(n, m) / m
    share that changes =  1 - gcd(n, m) / m             4 → 6: 1 - 2/6, 4 → 8: 1 - 4/8

The share is that of evenly hashed keys. Hashes are the numbers below 2^31, so it is exact but for
an error of `m / 2^31` at most. Growth to a multiple keeps most, and then a partition's keys go to
few others: with 4 → 8 those of partition 1 stay or go to partition 5.
"""

from fractions import Fraction
from math import gcd


def moved_share(before: int, after: int) -> Fraction:
    """The share of keys that change partition. 4 → 6: 2/3; 0 partitions hold no keys: 0."""
    if before <= 0:
        return Fraction(0)
    return 1 - Fraction(min(before, after) * gcd(before, after), before * after)
