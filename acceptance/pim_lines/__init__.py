"""Criteria of `acceptance/pim` on processing in memory: speed of the allocator, and how it scales with threads.

`make soak` compares the allocator with brute force and runs its churn.
"""

OPTIONS = {"--quick": {"action": "store_true", "help": "the benchmark with fewer sizes and rounds"}}
