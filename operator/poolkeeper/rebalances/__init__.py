"""Rebalances: the question that one puts to planners, and what they answer. No Spark in it.

    question → parts (one cluster each, read and planned) → answer

Who plans, the operator itself or a Job of many executors, gets the same question as the same text
and gives the same answer as the same text.
"""
