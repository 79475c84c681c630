"""Tournaments: every game is played once, also after kills; results in every format."""

import csv
import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dicent
from dicent import DicentError, play_tournament, read_records
from dicent.nets.residual import ResidualNetwork
from dicent.play.result import Standing
from dicent.play.tournament import TournamentResult

PLAYERS = ["random", "uct:20", "greedy:rollout=5"]
KILLED = """
import os, random, signal, sys, dicent
folder, after = sys.argv[1], int(sys.argv[2])
seen = 0
def progress(*_):
    global seen
    seen += 1
    if seen > after:
        os.kill(os.getpid(), signal.SIGKILL)
dicent.play_tournament(folder, {players}, "ewn", 12, seed=3, progress=progress)
"""


def all_games(folder: Path) -> list[str]:
    """Return the lines of all games, without the times of their moves."""
    texts = (file.read_text() for file in folder.glob("games/*.jsonl"))
    return sorted(re.sub(r', "times": \[[^]]*\]', "", line) for text in texts for line in text.splitlines())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TournamentResult]:
    """Return an uninterrupted tournament."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, play_tournament(folder, PLAYERS, "ewn", 12, seed=3)


def test_round_robin_plays_every_pair(whole: tuple[Path, TournamentResult]) -> None:
    folder, result = whole
    assert [(e.first, e.second) for e in result.encounters] == [(0, 1), (0, 2), (1, 2)]
    assert len(all_games(folder)) == 36
    starts = {record.start for file in folder.glob("games/*.jsonl") for record in read_records(file)}
    assert len(starts) == 18  # every pair of every match has its own seed
    assert result.players[result.ranking[-1]] == "random"
    assert sum(result.ratings.elo) == pytest.approx(0, abs=1e-6)
    assert sum(result.total(i)[0] for i in range(3)) == pytest.approx(36)
    first = result.score(0, 1)
    second = result.score(1, 0)
    assert first is not None
    assert second is not None
    assert first[0] + second[0] == pytest.approx(1)


def test_killed_tournament_loses_and_repeats_no_game(
    tmp_path: Path, whole: tuple[Path, TournamentResult]
) -> None:
    rng = random.Random(2)
    kills, before = 0, 0
    while True:
        command = [
            sys.executable,
            "-c",
            KILLED.format(players=PLAYERS),
            str(tmp_path),
            str(rng.randrange(45)),
        ]
        status = subprocess.run(command, capture_output=True, text=True)
        games = all_games(tmp_path)
        assert len(games) >= before  # the recorded games stay
        before = len(games)
        if status.returncode == 0:
            break
        assert status.returncode == -signal.SIGKILL, status.stderr
        kills += 1
        if kills == 1:  # as if killed while writing
            with open(next(tmp_path.glob("games/*.jsonl")), "a") as file:
                file.write('{"format": 1, "ga')
    assert kills >= 2
    assert all_games(tmp_path) == all_games(whole[0])
    again = play_tournament(tmp_path, PLAYERS, "ewn", 12, seed=3)
    assert again.ratings.elo == whole[1].ratings.elo


def test_parallel_matches_equal_sequential_ones(tmp_path: Path, whole: tuple[Path, TournamentResult]) -> None:
    result = play_tournament(tmp_path, PLAYERS, "ewn", 12, seed=3, at_once=3)
    assert [e.results for e in result.encounters] == [e.results for e in whole[1].encounters]
    assert all_games(tmp_path) == all_games(whole[0])
    assert (tmp_path / "results.txt").read_text() == (whole[0] / "results.txt").read_text()


@pytest.mark.parametrize(("players", "at_once"), [(PLAYERS, 0), (["random", "uct:time=0.1"], 2)])
def test_parallel_matches_with_time_budgets_are_refused(
    tmp_path: Path, players: list[str], at_once: int
) -> None:
    with pytest.raises(DicentError, match="1 with a clock or a player's budget in seconds"):
        play_tournament(tmp_path, players, "ewn", 4, at_once=at_once)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, DicentError])
def test_error_in_one_parallel_match_ends_all(
    tmp_path: Path, whole: tuple[Path, TournamentResult], problem: type[BaseException]
) -> None:
    def progress(over: TournamentResult, pair: tuple[int, int], standing: Standing) -> None:
        if pair == (0, 1) and standing.games >= 4:
            raise problem("enough")

    with pytest.raises(problem):
        play_tournament(tmp_path, PLAYERS, "ewn", 12, seed=3, at_once=2, progress=progress)
    assert 4 <= len(all_games(tmp_path)) < 36
    play_tournament(tmp_path, PLAYERS, "ewn", 12, seed=3, at_once=2)
    assert all_games(tmp_path) == all_games(whole[0])


def test_second_process_in_one_folder_is_refused(tmp_path: Path) -> None:
    refused = []

    def meanwhile(result: TournamentResult, pair: tuple[int, int], standing: Standing) -> None:
        with pytest.raises(DicentError, match="another process plays the tournament") as error:
            play_tournament(tmp_path, PLAYERS, "ewn", 12, seed=3)
        refused.append(error)

    first = play_tournament(tmp_path, PLAYERS, "ewn", 2, seed=3, progress=meanwhile)
    assert refused
    assert len(all_games(tmp_path)) == 6
    assert play_tournament(tmp_path, PLAYERS, "ewn", 2, seed=3).to_dict() == first.to_dict()


def test_tournament_can_be_extended_but_not_changed(tmp_path: Path) -> None:
    play_tournament(tmp_path, PLAYERS[:2], "ewn", 4)
    before = all_games(tmp_path)
    larger = play_tournament(tmp_path, PLAYERS, "ewn", 6)
    assert len(larger.encounters) == 3
    assert {len(e.results) for e in larger.encounters} == {6}
    assert set(before) < set(all_games(tmp_path))
    for players, game, seed, says in (
        (["uct:20", "random"], "ewn", 0, "other players"),
        (PLAYERS, "ewn-paper", 0, "other game"),
        (PLAYERS, "ewn", 1, "other seed"),
    ):
        with pytest.raises(DicentError, match=says):
            play_tournament(tmp_path, players, game, 6, seed=seed)
    with pytest.raises(DicentError, match="other gauntlet"):
        play_tournament(tmp_path, PLAYERS[1:], "ewn", 6, gauntlet="random")


def test_network_that_learned_more_is_another_player(tmp_path: Path) -> None:
    from dicent.evaluate.network_file import Description, save_network

    file = tmp_path / "net.safetensors"
    shape = dicent.make("ewn").input_shape
    for expected in (True, False):
        save_network(file, ResidualNetwork(shape, filters=2, blocks=1, hidden=4), Description("ewn"))
        if expected:
            play_tournament(tmp_path / "t", [f"greedy:{file}", "random"], games=2)
        else:
            with pytest.raises(DicentError, match="other networks"):
                play_tournament(tmp_path / "t", [f"greedy:{file}", "random"], games=2)


def test_gauntlet_plays_against_one_player(tmp_path: Path) -> None:
    seen: list[tuple[tuple[int, int], Standing]] = []
    result = play_tournament(
        tmp_path,
        PLAYERS[1:],
        "ewn",
        4,
        gauntlet="random",
        progress=lambda _, pair, standing: seen.append((pair, standing)),
    )
    assert result.players == tuple(PLAYERS)
    assert [(e.first, e.second) for e in result.encounters] == [(0, 1), (0, 2)]
    assert result.score(1, 2) is None
    assert {pair for pair, _ in seen} == {(0, 1), (0, 2)}


@pytest.mark.parametrize(
    ("players", "games", "says"),
    [(["random"], 4, "at least 2"), (["random", "random"], 4, "given twice"), (PLAYERS, 3, "even number")],
)
def test_invalid_arguments_are_refused(tmp_path: Path, players: list[str], games: int, says: str) -> None:
    with pytest.raises(DicentError, match=says):
        play_tournament(tmp_path / "t", players, "ewn", games)
    assert not (tmp_path / "t").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(DicentError, match="cannot hold a tournament"):
        play_tournament(tmp_path / "file", PLAYERS, "ewn", 4)


def test_results_are_written_in_every_format(whole: tuple[Path, TournamentResult]) -> None:
    folder, result = whole
    facts = json.loads((folder / "results.json").read_text())
    assert facts == json.loads(json.dumps(result.to_dict()))
    assert facts["finished"]
    assert [row["player"] for row in facts["ratings"]] == [result.players[i] for i in result.ranking]
    matches = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [(row["player"], row["opponent"]) for row in matches] == [
        ("random", "uct:20"),
        ("random", "greedy:rollout=5"),
        ("uct:20", "greedy:rollout=5"),
    ]
    for row, match in zip(matches, facts["matches"], strict=True):
        assert float(row["score"]) == match["score"]
        assert [float(row["adjusted_low"]), float(row["adjusted_high"])] == match["adjusted_interval"]
    ratings = list(csv.DictReader((folder / "ratings.csv").read_text().splitlines()))
    assert [float(row["elo"]) for row in ratings] == sorted(result.ratings.elo, reverse=True)
    text = (folder / "results.txt").read_text()
    page = (folder / "results.html").read_text()
    for name in PLAYERS:
        assert name in text
        assert name in page
    for part in ("95 % interval", "first move is worth"):
        assert part in text
        assert part in page
    assert page.count("<svg") == 1
    assert page.count("<circle") == 3
