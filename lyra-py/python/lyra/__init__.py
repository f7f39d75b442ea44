"""Lyra: an evidence graph in one file."""

from lyra._lyra import EvidenceGraph, __version__

__all__ = ["EvidenceGraph", "__version__"]
