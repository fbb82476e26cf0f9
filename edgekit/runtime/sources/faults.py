"""The faults of a stream, counted and put into words; a long list of the same fault stays one line."""

from __future__ import annotations

from collections import Counter

_EXAMPLES = 3


class FaultLog:
    """Counts faults by kind and keeps the first few examples of each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._whole: list[str] = []

    def note(self, kind: str, example: str) -> None:
        """One more fault of a kind, for instance ("cut short", "frame_0031.jpg")."""
        self._counts[kind] += 1
        examples = self._examples.setdefault(kind, [])
        if len(examples) < _EXAMPLES:
            examples.append(example)

    def say(self, line: str) -> None:
        """A fault of the stream as a whole, in words; said once."""
        if line not in self._whole:
            self._whole.append(line)

    @property
    def count(self) -> int:
        """Faults of single frames, all kinds together."""
        return sum(self._counts.values())

    def lines(self) -> tuple[str, ...]:
        """One line a kind, then what was said of the whole."""
        lines = []
        for kind, count in self._counts.items():
            more = ", ..." if count > len(self._examples[kind]) else ""
            noun = "frame" if count == 1 else "frames"
            lines.append(f"{count} {noun} left out, {kind}: {', '.join(self._examples[kind])}{more}")
        return (*lines, *self._whole)
