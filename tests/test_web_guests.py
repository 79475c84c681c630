"""Guests: what the pages and the server offer to a second device."""

from pathlib import Path

from .serving import begin
from .test_web_two_devices import WITH_LINK, joined, reachable


def test_the_server_tells_visitors_what_they_may_open(tmp_path: Path) -> None:
    with reachable(tmp_path) as owner:
        game = begin(owner, **WITH_LINK)
        info = owner.get("/api/info").json()
        assert (info["pages"], info["guest_of"]) == (["play", "analyse", "library", "watch", "review"], None)
        with joined(owner, game) as guest:
            info = guest.get("/api/info").json()
            assert (info["pages"], info["guest_of"]) == ([], game["id"])


def test_the_guide_promises_a_guest_no_review(tmp_path: Path) -> None:
    with reachable(tmp_path) as owner, joined(owner, begin(owner, **WITH_LINK)) as guest:
        for name in ("ewn", "dice-nim"):
            host, other = (
                client.get("/api/guide", params={"game": name}).json()["sentences"]
                for client in (owner, guest)
            )
            assert "review" in host["end"]
            assert "review" not in other.get("end", "")
            assert {**host, "end": ""} == {**other, "end": ""}
