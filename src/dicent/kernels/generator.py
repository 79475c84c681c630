"""Random numbers without hidden state: a draw is a hash of (seed, index, purpose, counter).

The draws of a game therefore do not depend on threads, on other games, or on how games are grouped. A
stream is an array `rng` of two unsigned 64-bit numbers: its key, and the number of draws so far.
"""

import math

from .jit import i64, inline, jit, u64

MASK = u64(0xFFFFFFFFFFFFFFFF)
GOLDEN = u64(0x9E3779B97F4A7C15)  # odd, 2**64 divided by the golden ratio
FIRST = u64(0xBF58476D1CE4E5B9)  # the two multipliers of SplitMix64
SECOND = u64(0x94D049BB133111EB)
ONE = u64(1)
MOST_FINE = 1 << 11  # for `fine_draw`: 53 bits times this are 64


@inline
def mix(z):
    """Apply the finaliser of SplitMix64: a bijection of 64 bits that mixes every bit into every bit."""
    z = ((z ^ (z >> u64(30))) * FIRST) & MASK
    z = ((z ^ (z >> u64(27))) * SECOND) & MASK
    return z ^ (z >> u64(31))


@inline
def open_stream(rng, seed, index, purpose):
    """Make `rng` the stream of game `index` of run `seed` for one purpose, at its beginning."""
    key = mix((u64(seed) + GOLDEN) & MASK)
    key = mix((key + u64(index) * GOLDEN) & MASK)
    rng[0] = mix((key + (u64(purpose) + ONE) * GOLDEN) & MASK)
    rng[1] = u64(0)


@inline
def bits(rng):
    """Return the next 64 random bits."""
    counter = (u64(rng[1]) + ONE) & MASK
    rng[1] = counter
    return mix((u64(rng[0]) + counter * GOLDEN) & MASK)


@inline
def draw(rng, n):
    """Return a random integer from 0 to n - 1, for n below 2**32 (bias below n / 2**32)."""
    return i64(((bits(rng) >> u64(32)) * u64(n)) >> u64(32))


@inline
def fine_draw(rng, n):
    """Return a random integer from 0 to n - 1, for n up to MOST_FINE: floor(n * uniform(rng))."""
    return i64(((bits(rng) >> u64(11)) * u64(n)) >> u64(53))


@inline
def uniform(rng):
    """Return a random float64 in [0, 1)."""
    return i64(bits(rng) >> u64(11)) * (1.0 / 9007199254740992.0)


@inline
def normal(rng):
    """Return a random float64 with the standard normal distribution, by the method of Box and Muller."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(rng)))
    return radius * math.cos(2.0 * math.pi * uniform(rng))


@jit
def gamma(rng, alpha):
    """Return a random float64 of the gamma distribution with shape `alpha` and scale 1; may underflow to 0.

    The method of Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    """
    power = 1.0
    shape = alpha
    if alpha < 1.0:  # outside the method's range: gamma(alpha) = gamma(alpha + 1) * u ** (1 / alpha)
        power = math.exp(math.log(1.0 - uniform(rng)) / alpha)
        shape = alpha + 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        root = 1.0 + c * x
        v = root * root * root
        u = 1.0 - uniform(rng)
        if v > 0.0 and math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return power * d * v
