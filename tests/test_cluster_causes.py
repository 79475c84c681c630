"""Causes of errors on other machines: one line each, from the texts of Ray."""

import pytest

from dicent.cluster.causes import cause_of, machine_of, why_not_joined

HEADING = "\x1b[36mray::play_piece()\x1b[39m (pid=5454, ip=10.0.0.7)"
TRACEBACK = f"""{HEADING}
           ^^^^^^^^^^^^^^^^
  File "/home/me/my_nim.py", line 14, in play
    raise an_error
    ^^^^^^^^^^^^^^
"""
ARGUMENT = f"""{HEADING}
  At least one of the input arguments for this task could not be computed:
ray.exceptions.RaySystemError: System error: the game is damaged
traceback: Traceback (most recent call last):
          ^^^^^^^^^
  File "/home/me/game.py", line 7, in load
    raise GameError("the game is damaged")
"""
DEAD = """The actor died unexpectedly before finishing this task.
\tclass_name: ClusterWorker
\tpid: 5454
\tip: 10.0.0.7
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR
The actor never ran - it was cancelled before it started running."""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (TRACEBACK + "dicent.errors.GameError: one\ntwo", "one two"),
        (TRACEBACK + "ZeroDivisionError: division by zero", "ZeroDivisionError: division by zero"),
        (ARGUMENT + "dicent.errors.GameError: the game is damaged\n", "the game is damaged"),
        (
            DEAD,
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR The actor "
            "never ran - it was cancelled before it started running.",
        ),
        ("it has not answered for 300 s", "it has not answered for 300 s"),
        ("its lines are\n  indented", "indented"),
        ("", "RuntimeError"),
    ],
)
def test_cause_is_one_line(text: str, cause: str) -> None:
    assert cause_of(RuntimeError(text)) == cause


def test_endless_cause_is_cut() -> None:
    assert len(cause_of(RuntimeError("memory " * 1000))) < 600


@pytest.mark.parametrize("module", ["dicent", "dicent.learn", "torch"])
def test_machine_without_the_package_is_told_what_to_install(module: str) -> None:
    found = cause_of(RuntimeError(f"{TRACEBACK}ModuleNotFoundError: No module named '{module}'"))
    assert f"No module named '{module}': install dicent[cluster]" in found


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        (HEADING, "10.0.0.7"),
        (DEAD, "10.0.0.7"),
        ("ray::play_piece() (pid=1, ip=fd00::2, actor_id=3)", "fd00::2"),
        ("Memory on the node (IP: 10.0.0.8, ID: 7) was low", "10.0.0.8"),
        ("the object is lost", "a machine of the cluster"),
    ],
)
def test_machine_of_an_error_is_named(text: str, machine: str) -> None:
    assert machine_of(RuntimeError(text)) == machine


@pytest.mark.parametrize(
    ("text", "cause", "hint"),
    [
        ("Failed to connect", "InvalidAuthToken: Authentication token is missing", "set RAY_AUTH_MODE=token"),
        ("no authentication token was found", "", "set RAY_AUTH_MODE=token"),
        ("Failed to connect", "No node info found matching", "run ray start --address 10.0.0.7:6379 here"),
        ("Version mismatch:\n    Ray: 2.60", "", "Version mismatch: Ray: 2.60: install the same versions"),
        ("Could not find any running Ray instance", "", "run ray start --head, or unset RAY_ADDRESS"),
        ("Failed to connect", "a 404", "Failed to connect; is this the address that ray start --head"),
    ],
)
def test_failed_connection_says_what_to_do(text: str, cause: str, hint: str) -> None:
    error = RuntimeError(text)
    error.__cause__ = RuntimeError(cause)
    found = why_not_joined(error, "10.0.0.7:6379")
    assert found.startswith("this process cannot join the Ray cluster at 10.0.0.7:6379: ")
    assert hint in found
    assert "\n" not in found
