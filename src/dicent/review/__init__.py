"""Reviews: the luck of each roll and the cost of each move of a game."""

from dicent.review.page import review_page
from dicent.review.review import Moment, Review, review_game
from dicent.review.reviewer import Reviewer, reviewer_for

__all__ = ["Moment", "Review", "Reviewer", "review_game", "review_page", "reviewer_for"]
