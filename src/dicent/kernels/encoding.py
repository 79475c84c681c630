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
