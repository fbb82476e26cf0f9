"""The language of the local socket: one JSON object a line, with the version of the language, of bounded length."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from edgekit.errors import SettingsError
from edgekit.runtime.control.commands import Command, Reply, RowStart, RowStop, StatusQuery, Stop
from edgekit.runtime.control.row_name import row_name

VERSION = 1
LONGEST_COMMAND = 4096
"""Bytes of a command's line, its end included: the longest name takes a tenth of it."""
LONGEST_REPLY = 1 << 20
"""Bytes of an answer's line: a snapshot of two cameras takes about 4,000."""
_LONGEST_SIDE = 32


def encode_command(command: Command) -> bytes:
    """The line of a command."""
    if isinstance(command, RowStart):
        words: dict[str, Any] = {"command": "row_start", "row": command.row, "side": command.side}
    elif isinstance(command, RowStop):
        words = {"command": "row_stop", "side": command.side}
    elif isinstance(command, StatusQuery):
        words = {"command": "status"}
    else:
        words = {"command": "stop", **({"finish": True} if command.finish else {})}
    return _line({"version": VERSION, **words})


def decode_command(line: bytes) -> Command:
    """Read a command.

    Raises:
        SettingsError: no such command, another version, or a name that cannot be one.
    """
    words = _object(line, "command")
    name, given = words.pop("command", None), set(words)
    if not isinstance(name, str) or name not in _COMMANDS:
        raise SettingsError(f"no such command: {_shown(name)}", mend=f"known are {', '.join(_COMMANDS)}")
    keys, build = _COMMANDS[name]
    if given - keys:
        raise SettingsError(f"{name} takes no {_shown(sorted(given - keys)[0])}")
    return build(words)


def encode_reply(reply: Reply) -> bytes:
    """The line of an answer."""
    return _line({"version": VERSION, "ok": reply.ok, "message": reply.message, "data": dict(reply.data)})


def decode_reply(line: bytes) -> Reply:
    """Read an answer.

    Raises:
        SettingsError: it is none, or of another version.
    """
    words = _object(line, "answer")
    ok, message, data = words.get("ok"), words.get("message"), words.get("data")
    if not isinstance(ok, bool) or not isinstance(message, str) or not isinstance(data, dict):
        raise SettingsError("the answer of the run is incomplete", mend="restart it with this release of edgekit")
    return Reply(ok, message, data)


def _row_start(words: Mapping[str, Any]) -> RowStart:
    row = words.get("row")
    if not isinstance(row, str):
        raise SettingsError(f"the name of the row is {_shown(row)}", mend="give it as a text")
    return RowStart(row_name(row), _side(words))


def _finish(words: Mapping[str, Any]) -> bool:
    finish = words.get("finish", False)
    if not isinstance(finish, bool):
        raise SettingsError(f"finish is {_shown(finish)}", mend="give true or false")
    return finish


def _side(words: Mapping[str, Any]) -> str | None:
    side = words.get("side")
    if side is None:
        return None
    if not isinstance(side, str) or not 0 < len(side) <= _LONGEST_SIDE or not side.isprintable():
        raise SettingsError(f"the side is {_shown(side)}", mend="name a side of the site file, such as left")
    return side


_COMMANDS: Mapping[str, tuple[frozenset[str], Callable[[Mapping[str, Any]], Command]]] = {
    "row_start": (frozenset({"row", "side"}), _row_start),
    "row_stop": (frozenset({"side"}), lambda words: RowStop(_side(words))),
    "status": (frozenset(), lambda words: StatusQuery()),
    "stop": (frozenset({"finish"}), lambda words: Stop(_finish(words))),
}
"""Name of a command -> the keys it takes, and how it is built."""


def _line(words: dict[str, Any]) -> bytes:
    return json.dumps(words, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _object(line: bytes, what: str) -> dict[str, Any]:
    """The object of a line, without its version."""
    try:
        words = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: no UTF-8, no JSON, a number of too many digits
        raise SettingsError(f"the {what} is no line of JSON", mend="use `edgekit row` or `edgekit status`") from error
    if not isinstance(words, dict):
        raise SettingsError(f"the {what} is no JSON object", mend="use `edgekit row` or `edgekit status`")
    version = words.pop("version", None)
    if version != VERSION or isinstance(version, bool):
        raise SettingsError(
            f"the {what} is of version {_shown(version)}", mend=f"this release speaks version {VERSION}"
        )
    return words


def _shown(value: object) -> str:
    """A foreign value in a message: short, without control characters."""
    text = repr(value) if not isinstance(value, (dict, list)) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."
