"""Filling one stage: which of the waiting steps go next, within the limits.

In comes the backlog; out go the steps of a stage, one at a time, each of which `packer` may refuse.

Read `pace` (what one stage should carry), `filler` (whose turn it is), `cursor` (the way through a
queue), `gains` (steps that carry most for the sides that must carry something), `large_entries`
(which large steps share a stage).
"""
