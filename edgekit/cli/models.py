"""`edgekit models`: what is installed on the device, and which of it is active."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from edgekit.runtime.installed.item import Item, Kind
    from edgekit.runtime.installed.store import Store

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Install models and season profiles by digest, activate one, go back. `--model active` then names it.",
    epilog="Example: edgekit models install fruit-2027.onnx --activate",
)

StoreOption = Annotated[
    Path | None, typer.Option("--store", help="Folder of the store; default: $EDGEKIT_STORE, or the device's.")
]
ProfileOption = Annotated[bool, typer.Option("--profile", help="A season profile is meant, not a model.")]
NameArgument = Annotated[str, typer.Argument(help="First digits of the digest, or the file's name.")]


@app.command(epilog="Example: edgekit models install fruit-2027.onnx --activate")
def install(
    file: Annotated[Path, typer.Argument(help="Graph (.onnx), engine (.engine) or season profile (.toml).")],
    activate_: Annotated[bool, typer.Option("--activate", help="Make it the active one at once.")] = False,
    store: StoreOption = None,
) -> None:
    """Copy a model or a season profile into the store, under its digest; a power cut leaves it whole or absent.

    A graph's engine and an engine's sidecar come along where they lie beside it.
    """
    shelf = _store(store)
    item = shelf.install(file)
    typer.echo(f"installed {item.short}  {item.file}  {item.described}")
    if activate_:
        _activate(shelf, item)


@app.command("list", epilog="Example: edgekit models list")
def list_(
    store: StoreOption = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read every file again; exit code 1 for damage.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """What is installed; * is active, numbers are the steps back that a rollback would take."""
    from edgekit.cli.ui import print_json

    shelf = _store(store)
    items: list[Item] = [*shelf.items("model"), *shelf.items("profile")]
    faults = {item.digest: fault for item in items if verify and (fault := _fault(shelf, item)) is not None}
    if as_json:
        told = [asdict(item) | {"mark": _mark(shelf, item), "fault": faults.get(item.digest)} for item in items]
        print_json({"store": str(shelf.root), "items": told})
    else:
        for item in items:
            line = f"{_mark(shelf, item):2} {item.short}  {item.kind:7}  {item.size_bytes / 2**20:7.1f} MB  "
            typer.echo(f"{line}{item.installed_at[:10]}  {item.file}  {item.described}")
        for digest, fault in faults.items():
            typer.echo(f"fault: {digest[:12]}: {fault}", err=True)
        if not items:
            typer.echo(f"nothing is installed in {shelf.root}")
    if faults:
        raise typer.Exit(1)


@app.command(epilog="Example: edgekit models activate 3f9a")
def activate(name: NameArgument, profile: ProfileOption = False, store: StoreOption = None) -> None:
    """Make an installed item the active one, once its digest is seen to be right; a run that goes on keeps its own."""
    shelf = _store(store)
    _activate(shelf, shelf.find(_kind(profile), name))


@app.command(epilog="Example: edgekit models rollback")
def rollback(profile: ProfileOption = False, store: StoreOption = None) -> None:
    """Make the one active that was active before."""
    item = _store(store).roll_back(_kind(profile))
    typer.echo(f"active again: {item.short}  {item.file}  {item.described}")


@app.command(epilog="Example: edgekit models remove 3f9a")
def remove(name: NameArgument, profile: ProfileOption = False, store: StoreOption = None) -> None:
    """Delete an installed item; the active one is refused."""
    shelf = _store(store)
    item = shelf.find(_kind(profile), name)
    shelf.remove(item)
    typer.echo(f"removed {item.short}  {item.file}")


@app.command(epilog="Example: edgekit models path")
def path(profile: ProfileOption = False, store: StoreOption = None) -> None:
    """Print the path of the active model or profile, whose digest is seen to be right."""
    shelf = _store(store)
    typer.echo(str(shelf.file(shelf.active(_kind(profile)))))


def _store(named: Path | None) -> Store:
    from edgekit.runtime.installed.place import default_store
    from edgekit.runtime.installed.store import Store

    return Store(named or default_store())


def _kind(profile: bool) -> Kind:
    return "profile" if profile else "model"


def _activate(shelf: Store, item: Item) -> None:
    shelf.activate(item)
    typer.echo(f"active: {item.short}  {item.file}")


def _mark(shelf: Store, item: Item) -> str:
    pointer = shelf.pointer(item.kind)
    if pointer.active == item.digest:
        return "*"
    return str(pointer.earlier.index(item.digest) + 1) if item.digest in pointer.earlier else ""


def _fault(shelf: Store, item: Item) -> str | None:
    from edgekit.errors import ModelError

    try:
        shelf.check(item)
    except ModelError as error:
        return error.what
    return None
