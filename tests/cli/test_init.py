"""`edgekit init` writes what a person edits, once."""

import re

from typer.testing import CliRunner

from edgekit.cli.main import app
from edgekit.errors import StorageError
from edgekit.templates import KINDS, template_files, templates_root

runner = CliRunner()


def test_init_writes_every_template_and_keeps_edited_files(tmp_path):
    names = [path.relative_to(templates_root()) for kind in KINDS for path in template_files(kind)]
    assert names
    first = runner.invoke(app, ["init", str(tmp_path)])
    assert first.exit_code == 0
    edited = tmp_path / names[0]
    edited.write_text("edited")
    second = runner.invoke(app, ["init", str(tmp_path)])
    assert edited.read_text() == "edited"
    assert "kept" in second.output
    runner.invoke(app, ["init", str(tmp_path), "--force"])
    for name in names:
        assert (tmp_path / name).read_bytes() == (templates_root() / name).read_bytes()


def test_the_help_promises_the_folders_that_are_written_and_no_others(tmp_path):
    assert runner.invoke(app, ["init", str(tmp_path)]).exit_code == 0
    promised = set(re.findall(r"\((\w+)/\)", runner.invoke(app, ["init", "--help"]).output))
    assert promised == {path.name for path in tmp_path.iterdir()} == set(KINDS)


def test_init_into_a_file_says_so(tmp_path):
    (tmp_path / "taken").write_text("")
    result = runner.invoke(app, ["init", str(tmp_path / "taken")])
    assert isinstance(result.exception, StorageError)
    assert "taken is a file" in str(result.exception)
