"""Bundles: the right wheels for another machine, whole or refused."""

from __future__ import annotations

import json
import subprocess
import zipfile

import pytest
from typer.testing import CliRunner

from edgekit.bundle import BundleContents, BundleTarget, build_bundle, differences
from edgekit.cli.main import app
from edgekit.errors import BundleError, SettingsError
from tests.deploy.wheels import fake_edgekit, make_wheel


def silent(stage, done, total=None):
    """Shows nothing."""


@pytest.fixture
def shelf(tmp_path):
    """Wheels of fruitlib for two machines and two Pythons, and of a package that only Python 3.10 needs."""
    pytest.importorskip("uv")
    folder = tmp_path / "shelf"
    make_wheel(folder, "fruitlib", "1.0", tag="cp310-cp310-manylinux_2_17_aarch64")
    make_wheel(folder, "fruitlib", "2.0", tag="cp312-cp312-manylinux_2_28_aarch64")
    make_wheel(folder, "fruitlib", "2.0", tag="cp312-cp312-manylinux_2_28_x86_64")
    make_wheel(folder, "fruitlib", "3.0", tag="cp310-cp310-manylinux_2_39_aarch64")
    make_wheel(folder, "oldtoml", "1.0")
    return folder


def contents(tmp_path, shelf, **more):
    wheel = fake_edgekit(tmp_path / "own", requires=("fruitlib>=1", "oldtoml; python_version < '3.11'"))
    return BundleContents(wheel=wheel, find_links=shelf, offline=True, **more)


def wheels_of(folder):
    return sorted(path.name for path in (folder / "wheels").iterdir())


def test_wheels_are_those_of_the_device_not_of_this_machine(tmp_path, shelf):
    info = build_bundle(tmp_path / "jp6", BundleTarget("3.10"), contents(tmp_path, shelf), report=silent)
    assert wheels_of(tmp_path / "jp6") == [
        "edgekit-9.0-py3-none-any.whl", "fruitlib-1.0-cp310-cp310-manylinux_2_17_aarch64.whl",
        "oldtoml-1.0-py3-none-any.whl",
    ]  # fmt: skip
    assert info["jetpack"] == 6
    assert info["packages"] == {"fruitlib": "1.0", "oldtoml": "1.0"}
    build_bundle(tmp_path / "jp7", BundleTarget("3.12"), contents(tmp_path, shelf), report=silent)
    assert wheels_of(tmp_path / "jp7") == [
        "edgekit-9.0-py3-none-any.whl", "fruitlib-2.0-cp312-cp312-manylinux_2_28_aarch64.whl",
    ]  # fmt: skip


def test_a_bundle_holds_what_installs_it_and_is_whole(tmp_path, shelf):
    model = tmp_path / "mine" / "peppers.onnx"
    model.parent.mkdir()
    for name in ("peppers.onnx", "peppers.onnx.data", "peppers.engine", "peppers.engine.json", "other.onnx"):
        (model.parent / name).write_text(name)
    out = tmp_path / "jp6"
    build_bundle(out, BundleTarget("3.10"), contents(tmp_path, shelf, models=(model,)), report=silent)
    assert {path.name for path in out.iterdir()} == {
        "install.sh", "systemd", "udev", "log", "wheels", "models", "site", "requirements.txt", "bundle.json",
        "SHA256SUMS",
    }  # fmt: skip
    assert sorted(path.name for path in (out / "models").iterdir()) == ["peppers.onnx", "peppers.onnx.data"]
    assert (out / "site" / "trolley.toml").is_file()
    assert (out / "site" / "cameras" / "usb.toml").is_file()
    assert (out / "install.sh").stat().st_mode & 0o111
    assert differences(out) == []
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=out, check=True)


def test_damage_is_told_file_by_file(tmp_path, shelf):
    out = tmp_path / "jp6"
    build_bundle(out, BundleTarget("3.10"), contents(tmp_path, shelf), report=silent)
    (out / "wheels" / "oldtoml-1.0-py3-none-any.whl").unlink()
    (out / "site" / "trolley.toml").write_text("changed")
    (out / "wheels" / "evil-1.0-py3-none-any.whl").write_text("")
    answer = CliRunner().invoke(app, ["bundle", "verify", str(out), "--json"])
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["differences"] == [
        "wheels/oldtoml-1.0-py3-none-any.whl is missing",
        "wheels/evil-1.0-py3-none-any.whl is more than was made",
        "site/trolley.toml is changed",
    ]


def test_a_package_without_a_wheel_for_the_device_is_told_and_leaves_nothing(tmp_path, shelf):
    with pytest.raises(BundleError, match=r"no wheels for Python 3\.11 on aarch64.*fruitlib"):
        build_bundle(tmp_path / "out", BundleTarget("3.11"), contents(tmp_path, shelf), report=silent)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "shelf"]


def test_a_wheel_that_is_not_what_was_locked_is_refused(tmp_path, shelf, monkeypatch):
    from edgekit.bundle import build

    lock = build.lock

    def then_swapped(*arguments):
        told = lock(*arguments)
        with zipfile.ZipFile(shelf / "oldtoml-1.0-py3-none-any.whl", "a") as archive:
            archive.writestr("oldtoml/evil.py", "")
        return told

    monkeypatch.setattr(build, "lock", then_swapped)
    with pytest.raises(BundleError, match=r"(?i)hash"):
        build_bundle(tmp_path / "out", BundleTarget("3.10"), contents(tmp_path, shelf), report=silent)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_written_over(tmp_path, shelf):
    (tmp_path / "out").mkdir()
    with pytest.raises(BundleError, match="there already"):
        build_bundle(tmp_path / "out", BundleTarget("3.10"), contents(tmp_path, shelf), report=silent)


@pytest.mark.parametrize("words", [("3.9", "aarch64"), ("3.10", "armv7l")])
def test_targets_that_edgekit_does_not_know_are_refused(words):
    with pytest.raises(SettingsError, match="use one of"):
        BundleTarget(*words)


def test_what_is_no_bundle_is_told(tmp_path):
    with pytest.raises(BundleError, match="no bundle"):
        differences(tmp_path)
