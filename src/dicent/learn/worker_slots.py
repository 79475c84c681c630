"""Slots: the places for workers on the machines of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from dicent.cluster.connection import Node, count

CORES = 4  # of a worker on a machine without a GPU


@dataclass(frozen=True)
class Slot:
    """A place for a worker: a GPU or some cores of a machine."""

    node: Node
    index: int
    cores: int
    gpus: int

    @property
    def device(self) -> str:
        """Return the device in words."""
        return "GPU" if self.gpus else count(self.cores, "core")


def slots_of(node: Node, device: str = "auto") -> list[Slot]:
    """Return the places for workers on a machine; one core of the driver's is left to the learner.

    With the device cpu GPUs do not count.
    """
    cores = max(1, node.cores - 1) if node.is_ours else node.cores
    gpus = 0 if device == "cpu" else node.gpus
    if node.cores == 0:
        return []
    count = gpus or -(-cores // CORES)
    sizes = [len(range(i, cores, count)) for i in range(count)]
    return [Slot(node, i, size, min(1, gpus)) for i, size in enumerate(sizes) if size]


def planned(node: Node, device: str) -> str:
    """Return a machine in words, with the workers that it will have."""
    slots = slots_of(node, device)
    gpus, cores = sum(slot.gpus for slot in slots), sum(slot.cores for slot in slots)
    places = count(gpus, "GPU") if gpus else count(cores, "core")
    return f"{node.in_words()}: " + (f"{count(len(slots), 'worker')} on {places}" if slots else "no worker")
