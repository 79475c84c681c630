"""Network inputs and symmetric images of many states at once."""

from . import rules
from .jit import jit


@jit
def encode_batch(states, planes):
    """Write the encodings of `states` [B, S] into `planes` [B, C, H, W]."""
    for i in range(len(states)):
        planes[i] = 0.0
        rules.encode(states[i], planes[i])


@jit
def all_images(states, images, signs):
    """The images of each of `states` [B, S] under all K symmetries, `images` [B * K, S] and `signs`."""
    for i in range(len(states)):
        for k in range(rules.NUM_SYMMETRIES):
            j = i * rules.NUM_SYMMETRIES + k
            signs[j] = rules.symmetry(states[i], k, images[j])


@jit
def encode_images(states, kinds, policies, planes, values, image_policies, image):
    """Write the encodings of `states` [B, S], each under symmetry `kinds[i]`, into `planes` [B, C, H, W].

    `values` [B] take the symmetry's sign. `image_policies` [B, A], zeros, get `policies` where the actions
    go. A symmetry that does not hold at a state leaves it as it is. `image` [S] is scratch.
    """
    for i in range(len(states)):
        planes[i] = 0.0
        k = kinds[i]
        sign = rules.symmetry(states[i], k, image)
        if sign == 0:
            k = 0
            sign = rules.symmetry(states[i], k, image)
        rules.encode(image, planes[i])
        values[i] *= sign
        for a in range(policies.shape[1]):
            if policies[i, a] != 0.0:
                image_policies[i, rules.symmetry_action(states[i], k, a)] = policies[i, a]
