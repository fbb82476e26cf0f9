"""The faults of a stream, counted and put into words; a long list of the same fault stays one line."""

from __future__ import annotations

from collections import Counter

from edgekit.wording import counted

_EXAMPLES = 3


class FaultLog:
    """Counts faults by kind and keeps the first few examples of each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._whole: list[str] = []
        self._used: set[str] = set()

    def note(self, kind: str, example: str) -> None:
        """One more fault of a kind, for instance ("cut short", "frame_0031.jpg")."""
        self._counts[kind] += 1
        examples = self._examples.setdefault(kind, [])
        if len(examples) < _EXAMPLES:
            examples.append(example)

    def note_used(self, kind: str, example: str) -> None:
        """One more frame that is used although something is odd about it."""
        self._used.add(kind)
        self.note(kind, example)

    def say(self, line: str) -> None:
        """A fault of the stream as a whole, in words; said once."""
        if line not in self._whole:
            self._whole.append(line)

    @property
    def count(self) -> int:
        """Frames that were left out, all kinds together."""
        return sum(count for kind, count in self._counts.items() if kind not in self._used)

    def lines(self) -> tuple[str, ...]:
        """One line a kind, then what was said of the whole."""
        lines = []
        for kind, count in self._counts.items():
            more = ", ..." if count > len(self._examples[kind]) else ""
            fate = " " if kind in self._used else " left out, "
            lines.append(f"{counted(count, 'frame')}{fate}{kind}: {', '.join(self._examples[kind])}{more}")
        return (*lines, *self._whole)
