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
def some_images(states, kinds, policies, images, values, image_policies):
    """The image of each of `states` [B, S] under its symmetry `kinds[i]`, into `images` [B, S].

    `values` [B] take the symmetry's sign. `image_policies` [B, A], zeros, get `policies` where the actions
    go. A symmetry that does not hold at a state leaves it as it is.
    """
    for i in range(len(states)):
        k = kinds[i]
        sign = rules.symmetry(states[i], k, images[i])
        if sign == 0:
            k = 0
            sign = rules.symmetry(states[i], k, images[i])
        values[i] *= sign
        for a in range(policies.shape[1]):
            if policies[i, a] != 0.0:
                image_policies[i, rules.symmetry_action(states[i], k, a)] = policies[i, a]
