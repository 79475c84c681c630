"""Faults of a game's rules, in words."""

# What sizes the buffer that a function writes to.
SIZED_BY = {"outcomes": "NUM_OUTCOMES", "legal_actions": "MAX_LEGAL", "encode": "INPUT_SHAPE"}


def describe_fault(function: str, error: BaseException | None) -> str:
    """Return in words what a function of the rules did wrong when it raised `error`."""
    if isinstance(error, ValueError) and "read-only" in str(error):  # NumPy's message
        advice = "; use scratch memory (SCRATCH_SIZE)" if function == "legal_actions" else ""
        return f"wrote to s, which it may only read{advice}"
    if isinstance(error, IndexError) and function in SIZED_BY:
        return f"raised {type(error).__name__}: {error}; {SIZED_BY[function]} sizes its buffer"
    return f"raised {type(error).__name__}: {error}"
