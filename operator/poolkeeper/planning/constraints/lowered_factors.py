"""Which replicas a partition keeps where its replication factor falls, as the racks demand.

Of all that may stay, one after another is dropped from the rack that holds most of them. So what is
kept is as even as dropping alone can make it: c replicas in a rack become no fewer while another
rack holds more. Among equals a leader stays, and the last of the list goes. Which of these equals
goes is settled again once it is known what brokers should hold (`layout.leaving_replicas`).
"""

import numpy as np

from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem


def lowered_rows(problem: PoolProblem) -> Bools:
    """Rows that only hold too many replicas: all are live, and all may stay or go."""
    there = problem.lists >= 0
    over: Bools = count_slots(there) > problem.rf
    if not over.any():
        return over
    able = problem.brokers.live[problem.lists] & ~problem.leaves & ~problem.immovable
    over &= ~any_slot(there & ~able) & (problem.rf > 0) & (problem.rf <= problem.eligible.sum())
    return over


def kept_lists(problem: PoolProblem, rows: Ints) -> Ints:
    """What these rows keep, in the order found, `NONE` behind it."""
    own = problem.lists[rows].copy()
    slots = own.shape[1]
    leader = problem.leader[rows]
    leader = np.where((own == leader[:, None]).any(axis=1), leader, own[:, 0])
    over = count_slots(own >= 0) - problem.rf[rows]
    while len(left := np.flatnonzero(over > 0)):
        part = own[left]
        there = part >= 0
        rack = np.where(there, problem.brokers.rack[part], NONE)
        beside = (rack[:, :, None] == rack[:, None, :]).sum(axis=2)
        follows = part != leader[left, None]
        order = (2 * beside + follows) * slots + np.arange(slots)
        own[left, np.where(there, order, NONE).argmax(axis=1)] = NONE
        over[left] -= 1
    return pack_left(own)


def pack_left(lists: Ints) -> Ints:
    """The lists with their brokers first and `NONE` behind them."""
    order = np.argsort(lists == NONE, axis=1, kind="stable")
    return np.take_along_axis(lists, order, axis=1)
