"""Waves over many clusters under one budget: who moves when. Pure.

In come each cluster's stages (`work`) and what is allowed (`budget`, `calendar`); out goes a
schedule (`timeline`) with the bound that none can beat (`time_bound`).

Read `schedule`, then `scheduler` (who begins at which moment) and `order`.
"""
