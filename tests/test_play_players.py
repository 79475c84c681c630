"""Players described by short texts."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import dicent
from dicent import Limit, Network, Player, parse_player
from dicent.errors import PlayerError
from dicent.evaluate.network_file import Description, save_network
from dicent.nets.residual import ResidualNetwork
from dicent.play.strengths import strength_player

EWN = dicent.make("ewn")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """Return a network file of EWN whose name has a comma."""
    torch.manual_seed(1)
    path = tmp_path / "my,net.safetensors"
    module = ResidualNetwork(EWN.input_shape, filters=4, blocks=1, hidden=8, num_actions=EWN.num_actions)
    save_network(path, module, Description("ewn"))
    return path


def test_players_without_a_network() -> None:
    assert isinstance(parse_player("random").search, dicent.Random)
    uct = parse_player("uct:500,exploration=1.0,rollouts=2")
    assert isinstance(uct.search, dicent.Uct)
    assert (uct.search.exploration, uct.limit, uct.name) == (
        1.0,
        Limit(evaluations=500),
        "uct:500,exploration=1.0,rollouts=2",
    )
    assert parse_player(" uct ").limit == Limit(evaluations=1000)
    greedy = parse_player("greedy:rollout=100").search
    assert isinstance(greedy, dicent.Greedy)
    assert greedy.evaluator.native == dicent.Rollout(100).native
    deep = parse_player("expectiminimax:random=7,depth=2")
    assert deep.limit == Limit(depth=2)


def test_players_with_a_network(net: Path) -> None:
    texts = {
        "greedy:'{}'": (dicent.Greedy, Limit(depth=1)),
        'expectiminimax:"{}",depth=2': (dicent.Expectiminimax, Limit(depth=2)),
        "expectiminimax:'{}',4": (dicent.Expectiminimax, Limit(depth=4)),
        "descent:'{}',evaluations=2_000": (dicent.Descent, Limit(evaluations=2000)),
        "unbounded:network='{}',time=1.5,decision=safe": (dicent.Unbounded, Limit(time=1.5)),
        "unbounded:time=1.5,net='{}'": (dicent.Unbounded, Limit(time=1.5)),  # the name in old records
        "puct:'{}',1600": (dicent.Puct, Limit(evaluations=1600)),
        "'{}'": (dicent.Expectiminimax, Limit(depth=3)),
        "'{}',depth=1": (dicent.Expectiminimax, Limit(depth=1)),
    }
    for text, (kind, limit) in texts.items():
        player = parse_player(text.format(net))
        assert type(player.search) is kind
        assert (player.limit, player.game) == (limit, "ewn")


def test_a_run_folder_names_its_latest_network(net: Path, tmp_path: Path) -> None:
    for name in ("000100", "000200"):
        folder = tmp_path / "run" / "checkpoints" / name
        folder.mkdir(parents=True)
        (folder / "network.safetensors").write_bytes(net.read_bytes())
    assert parse_player(str(tmp_path / "run")).game == "ewn"


def test_determinized_players() -> None:
    player = parse_player("descent:random=1,evaluations=50,determinized=yes,completion=no")
    assert isinstance(player.search, dicent.Determinized)
    assert player.search.inner.completion is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ucd:100", "there is no player 'ucd:100'; did you mean uct"),
        ("", "there is no player ''"),
        ("uct:", "nothing follows the colon"),
        ("uct:many", "evaluations must be a whole number (got 'many')"),
        ("uct:1,2", "'2' has no name; it takes rollouts, exploration, terminal, time"),
        ("uct:nodes=5,7", "'7' has no name"),
        ("uct:5,evaluations=6", "evaluations is given twice"),
        ("uct:depht=6", "uct has no 'depht'; it takes"),
        ("uct:-5", "0 or more"),
        ("uct:exploration=-1", "exploration must be 0 or more (got -1.0)"),
        ("random:7", "'7' has no name; random takes nothing"),
        ("greedy", "greedy needs a network, as in greedy:runs/mine"),
        ("greedy:rollout=1,random=1", "only one of"),
        ("greedy:nowhere", "nowhere does not exist: a network is a .safetensors file"),
        ("runs/nowhere", "runs/nowhere does not exist: a network is"),
        ("descent:random=1,completion=perhaps", "completion must be yes or no (got 'perhaps')"),
        ("greedy:'nowhere", "a quote is not closed"),
        ("unbounded:random=1,decision=wild", "decision must be one of best, safe (got 'wild')"),
        ("puct:random=1", "Puct needs an evaluator with a policy"),
    ],
)
def test_invalid_texts_are_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(dicent.DicentError, match=re.escape(message)):
        parse_player(text)


def test_a_network_of_another_game_is_refused(net: Path) -> None:
    player = parse_player(f"greedy:'{net}'")
    player.require(dicent.make("ewn", size=5))
    with pytest.raises(PlayerError, match="has learned ewn, not dice-nim"):
        dicent.play_match(player, "random", "dice-nim", 2)


def test_players_from_objects() -> None:
    network = Network(ResidualNetwork(EWN.input_shape, filters=4, blocks=1, hidden=8))
    player = Player(dicent.Greedy(dicent.Cached(network)), name="me")
    assert (player.name, player.game, player.network) == ("me", None, network)
    assert Player(dicent.Uct(), Limit(nodes=5)).name == "Uct, Limit(nodes=5)"
    with pytest.raises(PlayerError, match="needs a Limit"):
        Player(dicent.Uct())


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("num_actions", [0, EWN.num_actions])
def test_networks_play_a_game_in_any_encoding(num_actions: int) -> None:
    """`planes` changes no rule, so a network of one encoding plays in the other too."""
    pieces = dicent.make("ewn:planes=pieces")
    network = Network(ResidualNetwork(pieces.input_shape, 4, 1, 8, num_actions=num_actions))
    network.description = Description("ewn")  # the description names no planes
    states = np.array([EWN.initial_state(seed).cells for seed in range(5)])
    assert np.array_equal(network.evaluate(EWN, states), network.evaluate(pieces, states))
    assert network.with_encoding(EWN) == network.with_encoding(pieces) == pieces
    player = Player(dicent.Greedy(network))
    for game in (EWN, pieces):
        player.require(game)
    with pytest.raises(PlayerError, match="has learned ewn, not ewn:rules=paper"):
        player.require(dicent.make("ewn:rules=paper"))


@pytest.mark.usefixtures("uncompiled")
def test_a_network_with_another_input_shape_is_refused() -> None:
    network = Network(ResidualNetwork((7, 5, 5), 4, 1, 8))
    with pytest.raises(dicent.DicentError, match=r"planes of shape \(7, 5, 5\); ewn has \(33, 5, 5\)"):
        network.evaluate(EWN, EWN.initial_state(1).cells[None])
    with pytest.raises(dicent.DicentError, match="planes of shape"):
        dicent.play_match(Player(dicent.Greedy(network)), "random", "ewn", 2)


@pytest.mark.parametrize("game", ["ewn-paper", "ewn:rules=paper", "ewn:rules=paper,setup=alternate"])
def test_network_of_the_paper_plays_by_the_rules_of_the_paper(game: str) -> None:
    assert parse_player("greedy:net-paper").game == "ewn-paper"
    parse_player("greedy:net-paper").require(dicent.make(game))
    with pytest.raises(PlayerError, match="has learned ewn-paper"):
        parse_player("greedy:net-paper").require(EWN)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("settings", [None, {"input_shape": 825}, {"input_shape": (825,)}])
def test_custom_modules_are_used_as_they_are(settings: object) -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(825, 1), torch.nn.Flatten(0))
    module.settings = settings  # type: ignore[assignment]  # which is its own affair
    network = Network(module)
    assert network.with_encoding(EWN) == EWN
    assert network.evaluate(EWN, EWN.initial_state(1).cells[None]).shape == (1,)


def test_a_game_from_a_file_can_have_another_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(dicent.games.__file__).with_name("ewn").joinpath("rules.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    game = dicent.load("mine.py", pieces=3)
    pieces = dicent.load("mine.py", pieces=3, planes="pieces")
    monkeypatch.chdir("/")  # a loaded game does not need its file any more
    network = Network(ResidualNetwork(pieces.input_shape, 4, 1, 8))
    assert network.with_encoding(game) == pieces
    assert network.with_encoding(pieces) == pieces
    assert not game.is_like(EWN)


@pytest.mark.usefixtures("uncompiled")
def test_a_match_resumes_with_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    first = dicent.play_match("random", "random", "ewn:planes=pieces", 4, record=file)
    again = dicent.play_match("random", "random", "ewn", 8, record=file)
    assert again.results[:4].tolist() == first.results.tolist()
    assert len(list(dicent.read_records(file))) == 8


def test_a_native_network_alone_prunes() -> None:
    player = parse_player("net-official-sparse")
    assert isinstance(player.search, dicent.Expectiminimax)
    assert player.search.prune
    assert player.limit == Limit(evaluations=3000)
    assert player.limit_is_default
    for text in ("net-official-sparse,depth=3", "expectiminimax:net-official-sparse"):
        player = parse_player(text)
        assert player.limit == Limit(depth=3)
        assert not getattr(player.search, "prune", True)
    assert parse_player("net-official").limit == Limit(depth=3)


@pytest.mark.usefixtures("uncompiled")
def test_strengths_play_matches(tmp_path: Path) -> None:
    result = dicent.play_match("beginner", "random", "dice-nim:stones=6", games=4)
    assert result.games == 4
    with pytest.raises(dicent.DicentError, match="the strength 'full' depends on the game; add --game"):
        dicent.play_match("full", "random", games=2)
    table = dicent.play_tournament(tmp_path / "all", ["casual", "random"], "dice-nim:stones=6", games=2)
    assert table.players == ("casual", "random")


def test_the_full_strength_gives_way_to_a_clock() -> None:
    full, advanced = (strength_player(name, dicent.make("dice-nim")) for name in ("full", "advanced"))
    assert full.limit_within(7.0) == Limit(time=7.0)
    assert advanced.limit_within(7.0) == advanced.budget.within(7.0)
