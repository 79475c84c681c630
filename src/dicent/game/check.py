"""check_game: verify that a game keeps the contract.

It runs the rules as plain Python on some thousand positions: from random games, and all that
follow some of them. Then native code must agree on each. An error names the
function and a position that shows the breach.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dicent.errors import ContractError, DicentError, GameError
from dicent.game.binding import bind
from dicent.game.checked_rules import CheckedRules, RuleOutputs
from dicent.game.faults import describe_fault
from dicent.game.game import NAMES, Cells, Game, State, describe
from dicent.game.game_statistics import GameStatistics, statistics_of
from dicent.game.guide import guide
from dicent.game.registry import make, ways_to_show
from dicent.game.rollouts import MAX_STEPS, rollouts
from dicent.game.view import find_fault, find_path_fault
from dicent.kernels import rule_outputs as rule_outputs_kernels
from dicent.kernels.constants import CHANCE, CHOICE, ONGOING
from dicent.kernels.generator import draw, open_stream

CHECKS = (
    "random games end, and every answer of the rules makes sense",
    "positions, actions and outcomes have texts that lead back to them",
    "the encoding shows all that matters",
    "symmetries keep the rules",
    "native code agrees with plain Python",
)
Array = npt.NDArray[np.signedinteger] | npt.NDArray[np.floating]
TWINS = 200  # positions from which others are made by changing one number
SYMMETRIC = 300  # positions whose images are looked at, which takes long


@dataclass(frozen=True)
class CheckReport:
    """The positions, checks and statistics of a successful `check_game`."""

    game: str
    positions: int
    games: int
    statistics: GameStatistics
    checks: tuple[str, ...] = CHECKS


def check_game(
    game: Game, positions: int = 2000, seed: int = 0, progress: Callable[[str], object] | None = None
) -> CheckReport:
    """Check that a game keeps the contract; raise `ContractError` at the first breach.

    `progress` receives the name of the next check.
    """
    if positions < 1:
        raise DicentError(f"positions must be 1 or more (got {positions})")
    report = progress or (lambda check: None)
    rules = CheckedRules(game)
    with np.errstate(all="raise"):  # numbers that silently wrap differ between Python and native code
        report(CHECKS[0])
        _check_name(game)
        games = _random_games(rules, positions // 2, seed)
        known = _explore(rules, games, positions)
        statistics = statistics_of(game, known, seed)
        report(CHECKS[1])
        _check_how_to_play(game)
        _check_text(game, known)
        report(CHECKS[2])
        _check_planes(game)
        _check_encoding(rules, known)
        _check_twins(rules, known)
        if rules.module.LISTS_FEATURES:
            for outputs in known.values():
                rules.check_features(outputs.cells, outputs.planes)
        report(CHECKS[3])
        for outputs in list(known.values())[:: max(1, len(known) // SYMMETRIC)]:
            _check_symmetries(rules, outputs)
    report(CHECKS[4])
    _check_native(game, [outputs.cells for outputs in known.values()], seed)
    return CheckReport(game.name, len(known), len(games), statistics)


def _check_name(game: Game) -> None:
    try:
        again = make(game.name)
    except DicentError as error:
        raise ContractError(f"the game's name {game.name!r} does not lead back to it: {error}") from error
    if again != game:
        raise ContractError(f"the game's name {game.name!r} names another game")


def _random_games(rules: CheckedRules, positions: int, seed: int) -> list[list[Cells]]:
    """Play random games until there are enough positions; return the states of each."""
    games: list[list[Cells]] = []
    rng = np.empty(2, np.uint64)
    open_stream(rng, seed, 0, CHOICE)
    while sum(map(len, games)) < positions and len(games) < positions:
        scattered = rules.module.SCATTERS and len(games) % 2 == 1
        line = [rules.start(seed + len(games), "scatter" if scattered else "initial")]
        if scattered and rules.outputs(line[0]).result != ONGOING:
            rules.fail("scatter", line[0], "the game is over")
        while children := rules.outputs(line[-1]).children:
            line.append(children[draw(rng, len(children))])
            if len(line) > MAX_STEPS:
                rules.fail("result", line[-1], f"a random game did not end within {MAX_STEPS} steps")
        games.append(line)
    return games


def _explore(rules: CheckedRules, games: list[list[Cells]], positions: int) -> dict[bytes, RuleOutputs]:
    """Return the games' states, and states that follow some of them by any action or outcome."""
    known: dict[bytes, RuleOutputs] = {}

    def learn(cells: Cells) -> RuleOutputs:
        if cells.tobytes() not in known:
            known[cells.tobytes()] = rules.outputs(cells)
        return known[cells.tobytes()]

    for line in games:
        for cells in line:
            learn(cells)
    line = games[0]
    roots = [line[i * (len(line) - 1) // 4] for i in range(4)]
    for n, root in enumerate(roots):
        limit = len(known) + (positions - len(known)) // (len(roots) - n)
        waiting, seen = deque([root]), {root.tobytes()}
        while waiting and len(known) < limit:
            for child in learn(waiting.popleft()).children:
                if child.tobytes() not in seen:
                    seen.add(child.tobytes())
                    waiting.append(child)
    return known


def _check_text(game: Game, known: dict[bytes, RuleOutputs]) -> None:
    """Check that texts are unique and parse to what they describe."""
    texts: dict[str, bytes] = {}
    for key, outputs in known.items():
        state = State(game, outputs.cells.copy())
        text = _text("format_state", state, partial(str, state))
        if texts.setdefault(text, key) != key:
            raise ContractError(f"format_state: two different states have the same text {text!r}")
        try:
            same = game.parse(text) == state
        except DicentError as error:
            raise ContractError(f"parse_state: the text of a position is refused: {error}") from error
        if not same:
            raise ContractError(f"parse_state: {text!r} comes back as another state")
        for function, choices in (
            ("format_action", outputs.legal),
            ("format_outcome", range(len(outputs.p))),
        ):
            written = [_text(function, state, partial(getattr(game, function), state, c)) for c in choices]
            if len(set(written)) < len(written):
                raise ContractError(
                    f"{function}: {', '.join(written)} are not all different, at position {text}"
                )
        _check_words(game, state)
        _check_view(game, state)


def _text(function: str, state: State, write: Callable[[], str]) -> str:
    try:
        text = write()
    except GameError as error:
        where, problem = describe(state.game, state.cells), describe_fault(function, error.__cause__)
        raise ContractError(f"{function}: {problem}, at {where}") from error
    if not text or text != text.strip() or not text.isprintable():
        raise ContractError(f"{function}: {text!r} is not one line without spaces around it")
    return text


def _check_how_to_play(game: Game) -> None:
    try:
        guide(game)  # reads HOW_TO_PLAY, too
    except GameError as error:
        raise ContractError(str(error)) from error


def _check_words(game: Game, state: State) -> None:
    """Check that what the game says about a position is one line, or nothing."""
    for function, text_of in (("note", game.note), ("ending", game.ending)):
        try:
            text = text_of(state)
        except GameError as error:
            problem = describe_fault(function, error.__cause__)
            raise ContractError(f"{function}: {problem}, at position {state}") from error
        if text != text.strip() or not text.isprintable():
            raise ContractError(f"{function}: {text!r} is not one line, at position {state}")


def _check_view(game: Game, state: State) -> None:
    try:
        view = game.view(state)
    except GameError as error:
        problem = describe_fault("view", error.__cause__)
        raise ContractError(f"view: {problem}, at position {state}") from error
    fault = None if view is None else find_fault(view)
    if fault is not None:
        raise ContractError(f"view: {fault}, at position {state}")
    board = game.board(state)
    if board is None:
        return
    for action in state.legal_actions:
        try:
            fault = find_path_fault(board, game.action_paths(state, action))
        except GameError as error:
            fault = describe_fault("action_paths", error.__cause__)
        if fault is not None:
            text = game.format_action(state, action)
            raise ContractError(f"action_paths: {fault}, for the action {text} at position {state}")


def _check_planes(game: Game) -> None:
    """Check that encodings differ in shape, which networks know them by, and share their states."""
    ways = list(ways_to_show(game))
    if len({way.input_shape for way in ways}) < len(ways):
        raise ContractError("INPUT_SHAPE: two choices of the option `planes` have the same shape")
    sizes = {(way.state_size, way.num_actions, way.max_legal, way.num_outcomes) for way in ways}
    if len(sizes) > 1:
        raise ContractError("the option `planes` changes the size of states, actions or outcomes")


def _check_encoding(rules: CheckedRules, known: dict[bytes, RuleOutputs]) -> None:
    """Check that states with the same encoding are the same to a player."""
    looks: dict[bytes, RuleOutputs] = {}
    for outputs in known.values():
        if outputs.p:
            faces: dict[bytes, tuple[int, bytes]] = {}
            for o, child in enumerate(outputs.children):
                first, cells = faces.setdefault(rules.planes(child), (o, child.tobytes()))
                if cells != child.tobytes():  # equal states may look alike
                    rules.fail("encode", outputs.cells, f"hides whether chance chose {first} or {o}")
        twin = looks.setdefault(_look(rules.game, outputs.planes), outputs)
        if twin is outputs:
            continue
        _compare(rules, outputs, twin)


def _check_twins(rules: CheckedRules, known: dict[bytes, RuleOutputs]) -> None:
    """Compare positions that differ in one number, such as the mover; play seldom leads to both."""
    game = rules.game
    if not hasattr(game.rules.module, "parse_state"):
        return  # nothing would tell positions from nonsense
    values = [np.unique(column)[:4] for column in np.array([outputs.cells for outputs in known.values()]).T]
    for outputs in list(known.values())[:: max(1, len(known) // TWINS)]:
        for cell, column in enumerate(values):
            for value in column[column != outputs.cells[cell]]:
                cells = outputs.cells.copy()
                cells[cell] = value
                if _looks_like(game, cells, outputs):
                    _compare(rules, rules.outputs(cells), outputs)


def _looks_like(game: Game, cells: Cells, outputs: RuleOutputs) -> bool:
    """Return whether these numbers are a position with the same encoding as another."""
    try:
        state = State(game, cells.copy())
        same = _look(game, state.encode().tobytes()) == _look(game, outputs.planes)
        return same and game.parse(str(state)) == state
    except Exception:
        return False


def _look(game: Game, planes: bytes) -> bytes:
    """Return the planes that tell states apart: with SEEN_BY_MOVER all but the last."""
    _, height, width = game.input_shape
    return planes[: -4 * height * width] if game.seen_by_mover else planes


def _compare(rules: CheckedRules, one: RuleOutputs, two: RuleOutputs) -> None:
    """Raise an error if two positions have the same encoding but differ in more than the side."""
    sides = "" if one.planes == two.planes else " from the movers' sides"
    for problem in _differences(rules, one, two):
        raise ContractError(
            f"encode: two positions look the same to a network{sides}, but {problem}: "
            f"{describe(rules.game, two.cells)} and {describe(rules.game, one.cells)}"
        )


def _differences(rules: CheckedRules, one: RuleOutputs, two: RuleOutputs) -> Iterator[str]:
    sign = 1 if one.planes == two.planes else -1
    if one.result != (two.result if two.result == ONGOING else sign * two.result):
        yield f"the result is {two.result} in the first and {one.result} in the second"
    if one.result != ONGOING:
        return
    if one.player != (two.player if two.player == CHANCE else sign * two.player):
        yield f"{NAMES[two.player]} is to play in the first and {NAMES[one.player]} in the second"
    if set(one.legal) != set(two.legal):
        yield "their legal actions differ"
    if one.p != two.p:
        yield "the probabilities of chance differ"
    after = [dict(zip(f.legal or range(len(f.p)), f.children, strict=True)) for f in (one, two)]
    for choice, child in after[0].items():
        mine, other = rules.planes(child), rules.planes(after[1][choice])
        if _look(rules.game, mine) != _look(rules.game, other) or (mine == other) != (sign == 1):
            yield f"the positions after {choice} look different"


def _check_symmetries(rules: CheckedRules, outputs: RuleOutputs) -> None:
    """Check that an image has the same result, and moves to the images of the same positions."""
    game, cells = rules.game, outputs.cells
    for k in range(game.num_symmetries):
        sign, image = rules.image(cells, k)
        if sign == 0:
            if k == 0:
                rules.fail("symmetry", cells, "number 0 must be the identity and hold everywhere")
            continue
        if k == 0 and (sign != 1 or not np.array_equal(image, cells)):
            rules.fail("symmetry", cells, "number 0 is not the identity")
        other = rules.outputs(image)
        wrong = f"number {k} is wrong: "
        if other.result != (outputs.result if outputs.result == ONGOING else sign * outputs.result):
            rules.fail("symmetry", cells, wrong + f"the result {outputs.result} becomes {other.result}")
        if outputs.result != ONGOING:
            continue
        if other.player != sign * outputs.player:
            rules.fail("symmetry", cells, wrong + "the wrong player is to play in the image")
        if outputs.p:
            before = sorted(
                (p, rules.image(c, k)[1].tobytes()) for p, c in zip(outputs.p, outputs.children, strict=True)
            )
            after = sorted((p, c.tobytes()) for p, c in zip(other.p, other.children, strict=True))
            if [b for _, b in before] != [b for _, b in after] or not np.allclose(
                [p for p, _ in before], [p for p, _ in after], rtol=0, atol=1e-12
            ):
                rules.fail("symmetry", cells, wrong + "chance leads to other positions in the image")
            continue
        following = dict(zip(other.legal, other.children, strict=True))
        for action, child in zip(outputs.legal, outputs.children, strict=True):
            mapped = rules.mapped(cells, k, action)
            if mapped not in following:
                rules.fail(
                    "symmetry_action", cells, wrong + f"action {action} becomes {mapped}, which is not legal"
                )
            if not np.array_equal(rules.image(child, k)[1], following[mapped]):
                rules.fail("symmetry", cells, wrong + f"after action {action} the positions are not images")
        if len(following) != len(outputs.legal):
            rules.fail("symmetry", cells, wrong + "the image has other legal actions")


def _check_native(game: Game, states: list[Cells], seed: int) -> None:
    """Check that native code and plain Python agree on every state and play the same games."""
    if not bind(game).compiled:
        return
    try:
        native, plain = (_all_outputs(game, np.array(states), compiled) for compiled in (True, False))
    except GameError as error:
        raise ContractError(str(error)) from error
    for (name, expected), (_, found) in zip(plain, native, strict=True):
        for i, cells in enumerate(states):
            if not np.array_equal(expected[i], found[i], equal_nan=True):
                raise ContractError(
                    f"{name}: native code says {found[i].tolist()} and plain Python "
                    f"{expected[i].tolist()}, at {describe(game, cells)}"
                )
    scattered = [np.zeros((100, game.state_size), game.state_dtype) for _ in range(2)]
    for some, compiled in zip(scattered, (True, False), strict=True):
        bind(game, compiled).kernel(rule_outputs_kernels.scatter_all)(some, seed, np.empty(2, np.uint64))
    if not np.array_equal(scattered[0], scattered[1]):
        raise ContractError("scatter: native code draws other positions than plain Python")
    games = [rollouts(game, 100, seed, compiled=compiled) for compiled in (True, False)]
    if not np.array_equal(games[0].results, games[1].results) or not np.array_equal(
        games[0].plies, games[1].plies
    ):
        raise ContractError("random games of native code differ from those of plain Python")


def _all_outputs(game: Game, states: Cells, compiled: bool) -> list[tuple[str, Array]]:
    """Return the output of every function for every state, beside the function's name."""
    n, k = len(states), game.num_symmetries
    size, actions, chances = game.state_size, game.max_legal, max(1, game.num_outcomes)
    dtype, planes = game.state_dtype, np.zeros(game.input_shape)
    features = planes.size + len(planes) if game.rules.module.LISTS_FEATURES else 0
    answers: list[tuple[str, Array]] = [
        ("to_play", np.zeros(n, np.int64)),
        ("result", np.zeros(n, np.int64)),
        ("score", np.zeros(n, np.float64)),
        ("legal_actions or outcomes", np.zeros(n, np.int64)),
        ("legal_actions", game.empty_actions(n)),
        ("outcomes", np.zeros((n, chances), np.float64)),
        ("apply_action or apply_outcome", np.zeros((n, max(actions, chances), size), dtype)),
        ("encode", np.zeros((n, *game.input_shape), np.float32)),
        ("symmetry", np.zeros((n, k), np.int64)),
        ("symmetry", np.zeros((n, k, size), dtype)),
        ("symmetry_action", np.zeros((n, k, actions), np.int64)),
        ("features", np.zeros(n, np.int64)),
        ("features", np.zeros((n, features), np.int64)),
    ]
    bind(game, compiled).kernel(rule_outputs_kernels.rule_outputs)(states, *(array for _, array in answers))
    return answers
