"""Errors for users: each names the problem, the given value, and what is accepted."""


class DicentError(ValueError):
    """An error that the user can fix; the commands print it without a traceback."""


class JsonError(DicentError):
    """A text is not JSON, or longer or deeper than is accepted."""


class GameError(DicentError):
    """A game does not exist, cannot be loaded, or does not have the given options."""


class PositionError(DicentError):
    """A text is not a position of the game."""


class IllegalActionError(DicentError):
    """An action is not legal."""


class IllegalOutcomeError(DicentError):
    """An outcome is not possible."""


class ContractError(DicentError):
    """A game breaks the contract; raised by `check_game`."""


class NetworkFileError(DicentError):
    """A file is not a network, or is damaged."""


class MissingTorchError(DicentError):
    """Torch is not installed, and a network is to be evaluated or trained."""

    def __init__(self) -> None:
        super().__init__("networks need torch: pip install 'dicent[learn]'")


class MissingRayError(DicentError):
    """Ray is not installed, and a cluster is to be used."""

    def __init__(self) -> None:
        super().__init__("clusters need Ray: pip install 'dicent[cluster]'")


class PlayerError(DicentError):
    """A text does not describe a player, or the player cannot play the game."""


class RecordError(DicentError):
    """A record is not a legal game."""


class TablebaseFileError(DicentError):
    """A file is not a tablebase, or it is damaged or made for another game."""


class LibraryError(DicentError):
    """A game library is damaged, or has a newer format."""


class MissingError(DicentError):
    """No object has the given name or id."""


class ConflictError(DicentError):
    """A game has changed since the client read it."""
