"""The group classes: lazy loading, and the bare form."""

import typer
from typer.testing import CliRunner

from edgekit.cli.group import BareGroup
from edgekit.cli.main import Commands, app

runner = CliRunner()


def bare_app() -> typer.Typer:
    small = typer.Typer(cls=BareGroup)

    @small.command()
    def run(model: str = typer.Argument("default"), batch: int = 1) -> None:
        typer.echo(f"run {model} {batch}")

    @small.command()
    def score(file: str) -> None:
        typer.echo(f"score {file}")

    return small


def output(*words: str) -> str:
    result = runner.invoke(bare_app(), list(words))
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_the_bare_form_runs_the_most_used_command():
    assert output("M.onnx") == output("run", "M.onnx") == "run M.onnx 1"
    assert output("--batch", "4", "M.onnx") == "run M.onnx 4"
    assert output() == "run default 1"


def test_a_first_word_that_names_a_sub_command_is_one():
    assert output("score", "F.json") == "score F.json"
    assert output("run", "score") == "run score 1"


def test_help_of_a_bare_group_lists_its_commands():
    assert "score" in output("--help")


def test_a_mistyped_command_is_answered_with_the_nearest():
    result = runner.invoke(app, ["iniit"])
    assert result.exit_code == 2
    assert "init" in result.output


def test_every_command_of_the_table_has_its_line_in_the_help():
    text = runner.invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for name, (_, line) in Commands.table.items():
        assert name in text
        assert line in text
