"""Causes: what went wrong on another machine, in one line instead of Ray's traceback."""

from __future__ import annotations

import re

from dicent.version import __version__

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
OURS = re.compile(r"^dicent\.errors\.\w+: ")  # errors that say themselves what to do
MACHINE = re.compile(r"\bip[=:] ?([0-9A-Fa-f.:]*[0-9A-Fa-f])", re.IGNORECASE)
NEEDED = re.compile(r"No module named '(dicent|torch)\b")
MOST = 500  # characters


def cause_of(error: BaseException) -> str:
    """Return the cause of an error in one line.

    Ray's errors are texts: a heading, indented lines of a traceback or of facts, and then the cause.
    """
    lines = [line.rstrip() for line in COLOURS.sub("", str(error)).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    indented = [i for i, line in enumerate(lines) if line[0].isspace()]
    cause = lines[indented[-1] + 1 :] if indented else lines
    text = OURS.sub("", " ".join(cause or lines[-1:]).strip())
    text = text if len(text) <= MOST else text[:MOST] + " ..."
    if NEEDED.search(text):
        text += f": install dicent[cluster] {__version__} on that machine, for the Python that runs Ray there"
    return text


def machine_of(error: BaseException) -> str:
    """Return the address of the machine on which an error was raised, if Ray's text has it."""
    found = MACHINE.search(str(error))
    return found[1] if found else "a machine of the cluster"


def why_not_joined(error: BaseException, where: str) -> str:
    """Return in one line why this process cannot join the Ray cluster at an address, and what to do."""
    text = " ".join(str(error).split())
    hints = {
        "Could not find any running": "none runs on this machine: run ray start --head, or unset RAY_ADDRESS",
        "No node info found": f"this machine is not part of it: run ray start --address {where} here first",
        "uthentication token": "set RAY_AUTH_MODE=token, and copy ~/.ray/auth_token from its first machine",
        "Version mismatch": f"{text}: install the same versions of Python and Ray on all machines",
    }
    whole = f"{text} {error.__cause__}"
    usual = f"{text}; is this the address that ray start --head has printed?"
    hint = next((hint for sign, hint in hints.items() if sign in whole), usual)
    return f"this process cannot join the Ray cluster at {where}: {hint}"
