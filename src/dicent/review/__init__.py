"""Reviews: what a strong judge says of a game."""

from dicent.review.judge import Judge, judge_for
from dicent.review.page import review_page
from dicent.review.review import Moment, Review, review_game

__all__ = ["Judge", "Moment", "Review", "judge_for", "review_game", "review_page"]
