"""Small words of messages."""

from __future__ import annotations


def counted(number: int, thing: str, things: str | None = None) -> str:
    """A number with its noun: `1 tile`, `2 tiles`; `things` is the plural where it is not `thing` and an s."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"
