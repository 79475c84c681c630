"""Network inputs and symmetric images of many states at once."""

from . import rules
from .constants import CHANCE
from .jit import copy, jit


@jit
def encode_batch(states, planes):
    """Write the encodings of `states` [B, S] into `planes` [B, C, H, W], of bytes where that is enough."""
    for i in range(len(states)):
        planes[i] = 0
        rules.encode(states[i], planes[i])


@jit
def all_images(states, images, signs):
    """Write the images of `states` [B, S] under all K symmetries to `images` [B * K, S] and `signs`."""
    for i in range(len(states)):
        for k in range(rules.NUM_SYMMETRIES):
            j = i * rules.NUM_SYMMETRIES + k
            signs[j] = rules.symmetry(states[i], k, images[j])


@jit
def average_policies(states, signs, logits, mean, actions):
    """Average the logits of all images of each state, mapped back to the state's legal actions.

    states   [B, S]
    signs    [B, K]     0 where a symmetry does not hold
    logits   [B, K, A]  of the images
    mean     [B, A]     out: the means; an action that is not legal gets the logit of the state itself
    actions  [A]        scratch
    """
    for i in range(len(states)):
        copy(mean[i], logits[i, 0])
        if rules.to_play(states[i]) == CHANCE:
            continue
        for j in range(rules.legal_actions(states[i], actions)):
            total = 0.0
            images = 0
            for k in range(signs.shape[1]):
                if signs[i, k] != 0:
                    total += logits[i, k, rules.symmetry_action(states[i], k, actions[j])]
                    images += 1
            mean[i, actions[j]] = total / images


@jit
def encode_examples(states, values, policies, kinds, places, image, planes, image_values, image_policies):
    """Encode training examples: each of `states` [B, S] in its image under symmetry `kinds[i]`.

    `planes` [R, C, H, W], `image_values` [R] and `image_policies` [R, A] are written at row `places[i]`;
    `image` [S] is scratch memory. A symmetry that does not hold at a state leaves it as it is.
    """
    for i in range(len(states)):
        k, row = kinds[i], places[i]
        sign = rules.symmetry(states[i], k, image)
        if sign == 0:
            k = 0
            sign = rules.symmetry(states[i], k, image)
        planes[row] = 0
        rules.encode(image, planes[row])
        image_values[row] = sign * values[i]
        image_policies[row] = 0.0
        for a in range(policies.shape[1]):
            if policies[i, a] != 0.0:
                image_policies[row, rules.symmetry_action(states[i], k, a)] = policies[i, a]
