"""Interval iteration: certified bounds of the values of a graph's nodes, cycles or not.

Every node has a lower and an upper bound. A sweep replaces both by what the children's bounds imply:
the maximum, the minimum, or the mean by probability. The bounds stay valid in any order of updates,
and with cycles. Where they meet, the value is proved (Haddad and Monmege 2018). Components are solved
after those that they lead to, so that everything outside a component is known.

A component that every play leaves sooner or later is solved faster by a guess and its proof (Hartmanns and
Kaminski 2020). Sweeps from anywhere settle. Bounds a little farther out are then swept: if all of them have
moved inwards after some sweeps, they hold, since sweeps are monotone and have one fixed point.

Waves of nodes follow each other in a sweep over a large component, and threads share a wave by blocks. A
block sees its own new bounds and the old ones of the others, so the result does not depend on which
thread is faster.
"""

from .graph import END, HEADER, groups_of
from .jit import i64, jit
from .policy_iteration import widest_exit

# Each operation is exact to a share of 2 ** -53. So a mean of g differences d by probabilities p is off by
# less than this times |mean| + g * (the sum of p |d|).
ROUNDING = 2.0**-51


@jit
def sweep(graph, first, last):
    """Update the bounds of places `first` to `last`; returns the widest gap and the largest change."""
    gap = 0.0
    change = 0.0
    for place in range(last - 1, first - 1, -1):
        low, high = bounds(graph, place, graph.bounds, 0, first, last)
        change = max(change, low - graph.bounds[place, 0], graph.bounds[place, 1] - high)
        graph.bounds[place, 0] = max(graph.bounds[place, 0], low)
        graph.bounds[place, 1] = min(graph.bounds[place, 1], high)
        gap = max(gap, graph.bounds[place, 1] - graph.bounds[place, 0])
    return gap, change


@jit
def sweep_block(graph, fresh, start, first, last, narrow):
    """Update a block's `fresh` bounds [n, 2] from themselves and the others' old bounds.

    `fresh` has the bounds of places from `start` on. With `narrow`, no bound moves back.
    """
    for place in range(last - 1, first - 1, -1):
        i = place - start
        low, high = bounds(graph, place, fresh, start, first, last)
        fresh[i, 0] = max(fresh[i, 0], low) if narrow else low
        fresh[i, 1] = min(fresh[i, 1], high) if narrow else high


@jit
def take_block(graph, fresh, start, first, last):
    """Make a block's fresh bounds the old ones; returns the widest gap and the largest change."""
    gap = 0.0
    change = 0.0
    for place in range(first, last):
        low, high = fresh[place - start, 0], fresh[place - start, 1]
        change = max(change, low - graph.bounds[place, 0], graph.bounds[place, 1] - high)
        graph.bounds[place, 0] = low
        graph.bounds[place, 1] = high
        gap = max(gap, high - low)
    return gap, change


@jit
def bounds(graph, place, fresh, start, first, last):
    """Return what the bounds of its children imply for a node.

    `fresh` has the bounds of places from `start` on, and counts for `first` to `last`. Rounding moves both
    bounds outwards.
    """
    groups, at, vector = groups_of(graph, place)
    low, high = 0.0, 0.0
    first_low, first_high = 0.0, 0.0
    low_spread, high_spread = 0.0, 0.0
    for g in range(groups):
        header = HEADER - i64(graph.links[at])
        player, n = (header & 3) - 1, header >> 2
        at += 1
        its_low, its_high = 0.0, 0.0
        for j in range(n):
            link = i64(graph.links[at + j])
            child = link >> 1
            if link < 0:
                a = b = graph.ends[END - link]
            elif first <= child < last:
                a, b = fresh[child - start, 0], fresh[child - start, 1]
            else:
                a, b = graph.bounds[child, 0], graph.bounds[child, 1]
            if link & 1 and link >= 0:
                a, b = -b, -a
            if j == 0:
                its_low, its_high = a, b
            elif player > 0:
                its_low, its_high = max(its_low, a), max(its_high, b)
            else:
                its_low, its_high = min(its_low, a), min(its_high, b)
        at += n
        # A mean from the first value on, so that outcomes which are all worth the same give just that.
        if g == 0:
            first_low, first_high, low, high = its_low, its_high, its_low, its_high
        else:
            p = graph.chances[vector, g]
            low += p * (its_low - first_low)
            high += p * (its_high - first_high)
            low_spread += p * abs(its_low - first_low)
            high_spread += p * abs(its_high - first_high)
    if low_spread > 0.0:
        low -= ROUNDING * (abs(low) + groups * low_spread)
    if high_spread > 0.0:
        high += ROUNDING * (abs(high) + groups * high_spread)
    return low, high


@jit
def solve_small(graph, position, most_places, fine, tolerance, most, steps):
    """Solve small components from a place on, to a gap of `fine` if possible.

    A component inherits the gaps of those that it leads to. Returns the place reached, after updating about
    `steps` nodes; the end of the component there if its bounds do not meet in `most` sweeps (else the place
    again); and the number of sweeps.
    """
    made = 0
    sweeps = 0
    while position < most_places and made < steps:
        end = position
        while graph.order[end] >= 0:
            end += 1
        end += 1
        gap, change, tries = 2.0 * tolerance, 1.0, 0
        while gap > fine and tries < most and change > fine * 1e-3:
            gap, change = sweep(graph, position, end)
            tries += 1
            made += end - position
        sweeps += tries
        if gap > tolerance and gap > tolerance + widest_exit(graph, position, position, end):
            return position, end, sweeps
        position = end
    return position, position, sweeps
