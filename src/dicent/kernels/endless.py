"""Endless play: a draw, 0, also where a player can stay in a set of states for ever.

Sweeps alone leave gaps there. The upper bound of a state in such a set rests on that of the next one, and
round the cycle on itself. It must rest on something else (Eisentraut, Kelmendi, Kretinsky and Weininger
2022). Take any set in which MIN always has a link that stays, and chance always stays. MIN can then play so
that MAX gets one of MAX's exits or endless play. So the best exit that MAX can reach inside, or 0 if that is
more, bounds the value from above. Lower bounds are the same with the players swapped.

A vertex is a place or its mirror image, where players and signs are swapped: 2 * place + 1. Lower bounds are
the upper bounds of mirror images, so that one procedure serves both. `inside` and `exits` [2 * n] are indexed
by vertex from `base` on, the first vertex of a component.
"""

from .graph import END, HEADER, REPEATED, groups_of
from .jit import i64, inline, jit


@inline
def low_of(graph, vertex):
    place = vertex >> 1
    return -graph.bounds[place, 1] if vertex & 1 else graph.bounds[place, 0]


@inline
def high_of(graph, vertex):
    place = vertex >> 1
    return -graph.bounds[place, 0] if vertex & 1 else graph.bounds[place, 1]


@inline
def stays(graph, inside, base, vertex, other, margin):
    """Return whether a link from one vertex to the other stays inside, at equal bounds."""
    if other < base or inside[other - base] == 0:
        return False
    return (
        abs(high_of(graph, other) - high_of(graph, vertex)) <= margin
        and abs(low_of(graph, other) - low_of(graph, vertex)) <= margin
    )


@jit
def leave_together(graph, inside, base, first, last, backwards):
    """Put outside every place where both players together cannot stay inside; returns how many.

    inside  [n]  whether play can stay at the places from `base` on, as far as is known
    """
    out = 0
    for i in range(first, last):
        place = last - 1 - (i - first) if backwards else i
        if inside[place - base] and not can_stay_together(graph, inside, base, place):
            inside[place - base] = 0
            out += 1
    return out


@jit
def can_stay_together(graph, inside, base, place):
    groups, at, _ = groups_of(graph, place)
    for _ in range(groups):
        n = (HEADER - i64(graph.links[at])) >> 2
        found = False
        for j in range(at + 1, at + 1 + n):
            child = i64(graph.links[j]) >> 1
            if child >= base and inside[child - base]:
                found = True
                break
        if not found:
            return False
        at += 1 + n
    return True


@jit
def shrink(graph, inside, base, first, last, margin):
    """Put outside every vertex that has a group without a link that stays; returns how many."""
    out = 0
    for place in range(first, last):
        for vertex in (2 * place, 2 * place + 1):
            if inside[vertex - base] and not can_stay(graph, inside, base, vertex, margin):
                inside[vertex - base] = 0
                out += 1
    return out


@jit
def can_stay(graph, inside, base, vertex, margin):
    groups, at, _ = groups_of(graph, vertex >> 1)
    for _ in range(groups):
        n = (HEADER - i64(graph.links[at])) >> 2
        found = False
        for j in range(at + 1, at + 1 + n):
            link = i64(graph.links[j])
            found = found or (link >= 0 and stays(graph, inside, base, vertex, link ^ (vertex & 1), margin))
        if not found:
            return False
        at += 1 + n
    return True


@jit
def find_exits(graph, inside, exits, base, first, last, margin):
    """Raise the best exit known of every vertex inside; returns how many have changed."""
    changed = 0
    for place in range(first, last):
        for vertex in (2 * place, 2 * place + 1):
            if inside[vertex - base]:
                best = best_exit(graph, inside, exits, base, vertex, margin)
                if best > exits[vertex - base]:
                    exits[vertex - base] = best
                    changed += 1
    return changed


@jit
def best_exit(graph, inside, exits, base, vertex, margin):
    """Return the best that MAX can reach by leaving the set now, or later by the next vertex."""
    mirrored = vertex & 1
    groups, at, _ = groups_of(graph, vertex >> 1)
    best = 0.0
    for _ in range(groups):
        header = HEADER - i64(graph.links[at])
        player, n = (header & 3) - 1, header >> 2
        of_max = player < 0 if mirrored else player > 0
        for j in range(at + 1, at + 1 + n):
            link = i64(graph.links[j])
            if link < 0:
                if of_max:
                    end = graph.ends[END - link]
                    best = max(best, -end if mirrored else end)
            elif stays(graph, inside, base, vertex, link ^ mirrored, margin):
                best = max(best, exits[(link ^ mirrored) - base])
            elif of_max:
                best = max(best, high_of(graph, link ^ mirrored))
        at += 1 + n
    return best


@jit
def lower(graph, inside, exits, base, first, last):
    """Lower the upper bounds of vertices inside to their best exits; returns the largest change."""
    change = 0.0
    for place in range(first, last):
        low, high = graph.bounds[place, 0], graph.bounds[place, 1]
        vertex = 2 * place - base
        if inside[vertex]:
            high = min(high, exits[vertex])
        if inside[vertex + 1]:
            low = max(low, -exits[vertex + 1])
        its_change = max(low - graph.bounds[place, 0], graph.bounds[place, 1] - high)
        if its_change > 0.0:
            graph.forced[place] |= REPEATED
        change = max(change, its_change)
        graph.bounds[place, 0] = low
        graph.bounds[place, 1] = high
    return change


@jit
def unforce(graph, first, last, backwards):
    """Clear the bits of nodes where a player cannot force endless play; returns how many were cleared."""
    cleared = 0
    for i in range(first, last):
        place = last - 1 - (i - first) if backwards else i
        for mirrored in range(2):
            bit = 1 << mirrored
            if graph.forced[place] & bit and not can_force(graph, place, mirrored):
                graph.forced[place] -= bit
                cleared += 1
    return cleared


@jit
def can_force(graph, place, mirrored):
    """Return whether MAX, or MIN if mirrored, can move to a vertex from which they can force endless play."""
    groups, at, _ = groups_of(graph, place)
    for _ in range(groups):
        header = HEADER - i64(graph.links[at])
        player, n = (header & 3) - 1, header >> 2
        mine = player < 0 if mirrored else player > 0
        possible = 0
        for j in range(at + 1, at + 1 + n):
            link = i64(graph.links[j])
            if link >= 0:
                possible += (i64(graph.forced[link >> 1]) >> ((link ^ mirrored) & 1)) & 1
        if possible == 0 or (possible < n and not mine):
            return False
        at += 1 + n
    return True
