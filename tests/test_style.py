"""What the linters cannot say: lengths of files and functions, and the one way in which imports run."""

import ast
from pathlib import Path

import pytest

LEVELS = (
    ("contracts", "errors", "settings_file", "wording"),
    ("atomic", "folder_lock"),
    ("environment", "device", "graph", "masks", "labels", "templates"),
    ("segment", "tiles", "store"),
    ("sync", "calibration", "export", "runtime"),
    ("bench", "bundle", "doctor"),
    ("cli",),
)
LEVEL_OF = {part: level for level, parts in enumerate(LEVELS) for part in parts}

PACKAGE = Path(__file__).resolve().parents[1] / "edgekit"
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {part_of(name) for name in names if name.startswith("edgekit.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own not in LEVEL_OF:
        return
    for other in imports_of(ast.parse(path.read_text())) - {own, ""}:
        sideways = LEVEL_OF[other] == LEVEL_OF[own] and {own, other} == {"export", "runtime"}
        upward = LEVEL_OF[other] > LEVEL_OF[own]
        assert not sideways, f"{path.name} ({own}) imports edgekit.{other}"
        assert not upward, f"{path.name} ({own}) imports edgekit.{other}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (node.body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            assert lines <= 40, f"{node.name} has {lines} lines"


def test_the_repository_speaks_of_edgekit_alone():
    root = PACKAGE.parent
    told = ("/work/", "helper-")
    for path in [*FILES, *(root / "docs").rglob("*.md"), *(root / "bench").rglob("*.py"), root / "README.md"]:
        assert not any(word in path.read_text() for word in told), path
