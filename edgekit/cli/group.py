"""Two kinds of command group: one that loads its commands when they are used, and one with a bare form."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """A group whose commands are a literal table; a command's module is imported only when that command runs."""

    table: ClassVar[dict[str, tuple[str, str]]] = {}
    """Name of a command -> (module whose `app` it is, its line in the help)."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """What the help needs of a command: its name and its line."""
        if cmd_name not in self.table:
            return None
        return TyperCommand(cmd_name, help=self.table[cmd_name][1])

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The real command, loaded now that it is about to run."""
        self.commands = {name: self.get_command(ctx, name) for name in self.table}  # for "Did you mean ...?"
        name, _, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, None, rest
        loaded = get_command(import_module(self.table[name][0]).app)
        loaded.name = name
        return name, loaded, rest


class BareGroup(TyperGroup):
    """A group whose most used sub-command can be left out: `edgekit bench M.onnx` is `edgekit bench run M.onnx`.

    A first word that names a sub-command is that sub-command, even where a file of that name exists.
    """

    bare_form: ClassVar[str] = "run"
    """The sub-command that is meant when none is named."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put the bare form's name in front where the first word names no sub-command."""
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = [self.bare_form, *args]
        return super().parse_args(ctx, args)
