"""Whether a count can come from a binomial distribution, exactly and with a stated rate of false alarms.

Each look at some data is one of a number of tests that is fixed beforehand, which share the false
alarms that are allowed (Bonferroni).
"""

import math


def _log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _probability(n, p, k):
    return math.exp(_log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))


def p_value(n, p, count):
    """Twice the probability of a count at least as far out on its side. Requires 0 < p < 1."""
    side = range(count, n + 1) if count > n * p else range(count + 1)
    return min(1.0, 2 * math.fsum(_probability(n, p, k) for k in side))


class ExactTests:
    """`false_alarms` is the probability that any of `tests_max` right counts is refused."""

    def __init__(self, false_alarms, tests_max):
        self._left = tests_max
        self._level = false_alarms / tests_max

    def refuses(self, n, p, count):
        assert self._left > 0, "more tests than were said"
        self._left -= 1
        return p_value(n, p, count) < self._level
