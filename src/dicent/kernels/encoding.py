"""Network inputs and symmetric images of many states at once."""

from . import rules
from .jit import jit


@jit
def encode_batch(states, planes):
    """Write the encodings of `states` [B, S] into `planes` [B, C, H, W], of bytes where that is enough."""
    for i in range(len(states)):
        planes[i] = 0
        rules.encode(states[i], planes[i])


@jit
def all_images(states, images, signs):
    """The images of each of `states` [B, S] under all K symmetries, `images` [B * K, S] and `signs`."""
    for i in range(len(states)):
        for k in range(rules.NUM_SYMMETRIES):
            j = i * rules.NUM_SYMMETRIES + k
            signs[j] = rules.symmetry(states[i], k, images[j])


@jit
def encode_examples(states, values, policies, kinds, places, image, planes, image_values, image_policies):
    """What a learner is shown: each of `states` [B, S] in its image under symmetry `kinds[i]`, encoded.

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
