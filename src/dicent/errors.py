"""Errors for people: each says what was wrong, where, and what to do."""


class DicentError(ValueError):
    """Anything that a user can put right; the commands print it without a traceback."""


class GameError(DicentError):
    """A game that does not exist, cannot be loaded, or is asked for with options it does not have."""


class PositionError(DicentError):
    """A text that is no position of the game."""


class IllegalActionError(DicentError):
    """An action that the player to move does not have."""


class IllegalOutcomeError(DicentError):
    """An outcome that chance does not have here."""


class ContractError(DicentError):
    """A game that breaks the contract; raised by `check_game`."""


class NetworkFileError(DicentError):
    """A file that holds no network, or a damaged one."""


class MissingTorchError(DicentError):
    """Torch is not installed, and a network is to be evaluated or trained."""

    def __init__(self) -> None:
        super().__init__("networks need torch: pip install 'dicent[learn]'")


class PlayerError(DicentError):
    """A text that describes no player, or a player that cannot play the game."""


class RecordError(DicentError):
    """A record that is no game, or not a legal one."""


class TableFileError(DicentError):
    """A file is no endgame table, or a damaged or foreign one."""


class LibraryError(DicentError):
    """A library of games that is damaged, or of a newer version."""


class MissingError(DicentError):
    """Something that is asked for by its name or id, and is not there."""


class ConflictError(DicentError):
    """A game has gone on since its player last looked."""
