"""Schemas of answers about the server: its games, strengths, formats and languages."""

from __future__ import annotations

from pydantic import BaseModel


class GameOption(BaseModel):
    """An option of a game."""

    name: str
    default: int | str | bool
    help: str
    choices: list[int | str | bool] | None
    labels: dict[str, str]  # what values mean; without choices also the values to offer
    example: str
    hidden: bool  # concerns programs, so people are not asked


class GameInfo(BaseModel):
    """A game that can be played."""

    name: str
    title: str
    description: str
    options: list[GameOption]
    chance: bool
    view: bool


class StrengthInfo(BaseModel):
    """An opponent."""

    name: str
    title: str


class LanguageInfo(BaseModel):
    """A language of the pages."""

    code: str
    name: str


class Catalogue(BaseModel):
    """The sentences of a language, by the English ones: one text, or one for each form of the plural."""

    language: str
    pages: dict[str, str | dict[str, str]]
    answers: dict[str, str | dict[str, str]]  # texts of the server and the games, also with placeholders


class FormatInfo(BaseModel):
    """A format in which games are exported."""

    name: str
    title: str
    suffix: str  # of its files


class Info(BaseModel):
    """What this server offers to a visitor."""

    version: str
    games: list[GameInfo]
    default_game: str
    strengths: list[StrengthInfo]
    formats: list[FormatInfo]
    languages: list[LanguageInfo]
    pages: list[str]  # that the visitor may open: play (to start games), analyse, library, watch, review
    guest_of: str | None  # the id of the only game of a guest; null for the owner
