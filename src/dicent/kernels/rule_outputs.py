"""All outputs of the rules at given states, to compare native code with plain Python."""

from . import rules
from .constants import CHANCE, DEAL, ONGOING
from .generator import open_stream
from .jit import copy, jit


@jit
def rule_outputs(
    states, player, result, score, width, legal, p, children, planes, sign, image, mapped, listed, features
):
    """Write the outputs of the rules at each of N states.

    states    [N, S]        the states
    player    [N]           to_play
    result    [N]           result
    score     [N]           score, of finished states
    width     [N]           the number of legal actions or outcomes
    legal     [N, A + X]    legal_actions; X is the rules' scratch memory
    p         [N, O]        probabilities of the outcomes
    children  [N, B, S]     the state after each action or outcome
    planes    [N, C, H, W]  encode
    sign      [N, K]        the sign of each symmetry
    image     [N, K, S]     the image under each symmetry
    mapped    [N, K, A]     the image of each legal action under each symmetry
    listed    [N]           the number of features
    features  [N, F]        features
    """
    for i in range(len(states)):
        s = states[i]
        player[i] = rules.to_play(s)
        result[i] = rules.result(s)
        rules.encode(s, planes[i])
        listed[i] = rules.features(s, features[i])
        chance = player[i] == CHANCE
        if result[i] != ONGOING:
            score[i] = rules.score(s)
        elif chance:
            width[i] = rules.outcomes(s, p[i])
        else:
            width[i] = rules.legal_actions(s, legal[i])
        for j in range(width[i]):
            copy(children[i, j], s)
            if chance:
                rules.apply_outcome(children[i, j], j)
            else:
                rules.apply_action(children[i, j], legal[i, j])
        for k in range(rules.NUM_SYMMETRIES):
            sign[i, k] = rules.symmetry(s, k, image[i, k])
            if sign[i, k] != 0 and not chance:
                for j in range(width[i]):
                    mapped[i, k, j] = rules.symmetry_action(s, k, legal[i, j])


@jit
def scatter_all(states, seed, rng):
    """Make each of `states` [N, S], all zeros, a random position; `rng` [2] is scratch memory."""
    for i in range(len(states)):
        open_stream(rng, seed, i, DEAL)
        rules.scatter(states[i], rng)
