"""The rules in words, and how a game ended."""

from dicent.game import MAX

GUIDE = {
    "roll": "Roll the dice. You play each number with a checker: the same one twice, or two of them.",
    "move": "Checkers with a ring can move, from high numbers to low ones. Play both numbers if you can; a "
    "double is played four times. Two or more opposing checkers block a point.",
    "capture": "A checker that stands alone can be hit. It goes to the bar, and has to start from there.",
    "note": "Your checker on the bar comes in first: a 3 enters on point 22.",
    "end": "A win counts one point, two if the opponent has no checker off, three if one of them is also on "
    "the bar or in the winner's home.",
}
SPECIAL = {1: "", 2: ", a gammon", 3: ", a backgammon"}


def how_to_play(hyper: bool, checkers: int, opening: bool) -> str:
    """Return the rules in words."""
    begin = (
        "Both players roll one die. The higher number begins and plays both dice" if opening else "MAX begins"
    )
    example = (
        ""
        if hyper
        else """
> -b----E-C---eE---c-e----B- 1 31 :: 8/5 6/5
MAX rolled 3 and 1. One checker moves from 8 to 5, the other from 6 to 5.
"""
    )
    return f"""
MAX and MIN move their {checkers} checkers in opposite directions around 24 points. Each tries to bring all
of them home and then off the board.

> start
The numbers are those of the player to move. Checkers move from high numbers to low ones. Points 6 to 1 are
home.

## A turn

{begin}. Roll two dice and play each number with a checker: the same one twice, or two. A double is played
four times. Play as much of a roll as you can. If you can play either number but not both, play the higher.
{example}
A checker may move to a point that is empty, has your own checkers, or has one opposing checker. Two or more
opposing checkers block a point.

## Hits

A checker that moves to a single opposing checker hits it and puts it on the bar. A player with checkers on
the bar must bring them in first: a roll of 3 enters on point 22, which the opponent counts as 3.

## Bearing off

Once all of your checkers are home, you may move them off the board: a roll of 4 takes one from point 4. With
a number higher than your highest point you take a checker from that point.

## The end

The player who first has all checkers off wins one point. It is a gammon, two points, if the opponent has
none off. It is a backgammon, three points, if the opponent also has a checker on the bar or in the winner's
home.
"""


def ending(winner: int, points: float) -> str:
    """Return how the game ended."""
    return f"{'MAX' if winner == MAX else 'MIN'} bore off all checkers{SPECIAL[round(points)]}"
