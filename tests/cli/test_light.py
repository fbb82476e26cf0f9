"""Nothing heavy is loaded before it is needed, and nothing needs an extra that a trolley does not have."""

import pkgutil
import subprocess
import sys

import pytest

import edgekit
from edgekit.cli.main import Commands

HEAVY = ("torch", "torchvision", "ultralytics", "onnx", "onnxruntime", "cv2", "matplotlib", "tensorrt", "pycuda", "av")
EXTRAS = ("torch", "torchvision", "ultralytics", "onnx", "tensorrt", "pycuda", "matplotlib", "hotcoco")

BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked in this test", name=name)
sys.meta_path.insert(0, Blocker())
"""


def run_blocked(blocked: tuple[str, ...], code: str) -> str:
    script = BLOCKER.format(blocked=blocked) + code
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(*, but: str) -> list[str]:
    names = [module.name for module in pkgutil.walk_packages(edgekit.__path__, "edgekit.")]
    return [name for name in names if not name.startswith(but)]


def test_every_module_but_export_imports_without_the_extras():
    run_blocked(EXTRAS, "\n".join(f"import {name}" for name in modules(but="edgekit.export")))


HELP_OF_ALL = """
import typer
from typer.main import get_command
from edgekit.cli.main import app
def show(command, words):
    context = command.make_context("edgekit", words, resilient_parsing=True)
    print(" ".join(words), command.get_help(context)[:40])
from typer.testing import CliRunner
runner = CliRunner()
def visit(words):
    result = runner.invoke(app, [*words, "--help"])
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.output
from importlib import import_module
for name, (module, _) in {table!r}.items():
    visit([name])
    command = get_command(import_module(module).app)
    for sub in getattr(command, "commands", {{}}):
        visit([name, sub])
"""


def test_help_of_every_command_loads_nothing_heavy():
    run_blocked(HEAVY, HELP_OF_ALL.format(table=Commands.table))


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_the_first_answer_imports_no_command(words):
    code = f"""
import sys
sys.argv = ["edgekit", *{words!r}]
from edgekit.cli.main import main
try:
    main()
except SystemExit as stop:
    assert not stop.code
loaded = [name for name in sys.modules if name.startswith("edgekit.cli.")]
assert sorted(loaded) == ["edgekit.cli.group", "edgekit.cli.main"], loaded
assert "numpy" not in sys.modules
"""
    run_blocked(HEAVY, code)
