"""The assignors that keep what members own: as balanced as can be, and then as few moves.

In comes a group whose members say what they own, out goes who reads which partition. Read
`sticky_assignor`, then what it uses: `previous_owners`, `equal_subscriptions`,
`unequal_subscriptions`, `balancing` and `movements`; of these `sticky_2_2_assignor` uses the last
two.
"""
