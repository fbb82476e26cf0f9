"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "unchecked", "warning", "fault"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's answer."""

    subject: str
    """What was looked at."""
    state: State
    """unchecked: told only by opening it; warning: edgekit works, with less; fault: something that is wanted does not
    work."""
    text: str
    mend: str | None = None
    """What to do; None where nothing is to be done."""


def ok(subject: str, text: str) -> Finding:
    """All is well."""
    return Finding(subject, "ok", text)


def unchecked(subject: str, text: str, mend: str) -> Finding:
    """It was not looked at, or only in part."""
    return Finding(subject, "unchecked", text, mend)


def warning(subject: str, text: str, mend: str) -> Finding:
    """It works, with less."""
    return Finding(subject, "warning", text, mend)


def fault(subject: str, text: str, mend: str) -> Finding:
    """It does not work."""
    return Finding(subject, "fault", text, mend)
