"""Values of all positions with few stones."""

from dicent.kernels import rules
from dicent.kernels.constants import ONGOING
from dicent.kernels.jit import copy, jit


@jit
def fill(values, s, after, actions):
    """Work out values[left, side] for MAX; s, after [S] and actions [A] are scratch."""
    for left in range(len(values)):
        for side in range(2):
            s[rules.LEFT], s[rules.MOVER] = left, 1 - 2 * side
            found = rules.result(s)
            if found == ONGOING:
                mover = rules.to_play(s)
                best = -2.0
                for i in range(rules.legal_actions(s, actions)):
                    copy(after, s)
                    rules.apply_action(after, actions[i])
                    best = max(best, mover * values[after[rules.LEFT], 1 - side])
                values[left, side] = mover * best
            else:
                values[left, side] = found
