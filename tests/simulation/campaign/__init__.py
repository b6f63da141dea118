"""Random courses of Poolkeeper on a simulated cluster, each with several troubles at once.

`play(seed)` (`play`) draws a cluster, what is declared for it and some troubles from the seed alone
(`situation`), lets them happen while a loop works on the cluster, waits until nothing changes any
more, and names what was broken (`laws`). A loop that waits must wait for the true reason
(`truths`). Then all is put right, and it must converge.

What happens is in `ours` (calls to ZooKeeper that fail, processes that die), `machines` (brokers),
`upkeep` (all brokers at once), `tools` (somebody else's programs), `damage` (of nodes), `people`
(edits, stops, rollbacks) and `offers` (plans of Rebalances).

One seed alone, with what happened: PYTHONPATH=tests .venv/bin/python -m simulation.campaign 42
Many: PYTHONPATH=tests .venv/bin/python -m simulation.campaign 0 100000
"""
