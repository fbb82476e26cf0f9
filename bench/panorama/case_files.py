"""One file a case: benches that take long are cut, resumed and shared between processes, and printed at the end."""

import argparse
import json
from pathlib import Path

Row = dict[str, object]


def read_rows(folder: Path) -> dict[str, Row]:
    """Case -> its figures, of those that were run."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def write_row(folder: Path, name: str, row: Row) -> None:
    """Keep the figures of a case, and print them."""
    (folder / f"{name}.json").write_text(json.dumps(row) + "\n")
    print(name, json.dumps(row), flush=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which cases are run, where their figures go, and how they are printed."""
    parser.add_argument("--out", type=Path, help="folder of the figures")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--part", default="1/1", help="1/2 and 2/2 share the cases between two processes")
    parser.add_argument("--table", type=Path, nargs="+", help="print the cases of earlier --out, one or several")
    parser.add_argument("--json", type=Path, help="with --table: write them into one file")


def missing(names: list[str], options: argparse.Namespace) -> list[str]:
    """The cases that this process is to run."""
    part, parts = (int(number) for number in options.part.split("/"))
    mine = names[part - 1 :: parts]
    return [name for name in mine if options.only in name and not (options.out / f"{name}.json").exists()]


def tabled(options: argparse.Namespace) -> dict[str, dict[str, Row]]:
    """Name of each folder of --table -> its cases."""
    tables = {folder.name: read_rows(folder) for folder in options.table}
    if len(tables) < len(options.table):
        raise SystemExit("two folders of --table have the same name")
    return tables


def write_json(options: argparse.Namespace, figures: object) -> None:
    """One file of it all, where --json asks for it."""
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
