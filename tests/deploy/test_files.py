"""What lies in deploy/: clean by the tools that judge it, and of one piece."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MOST_EXPOSED = {"edgekit.service": 2.5, "edgekit-sync.service": 1.7, "edgekit-prune.service": 0.9}
"""By `systemd-analyze security`: 0 is shut, 10 is open; a service as systemd makes it by itself has 9.6."""


def tool(name):
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def deploy(repository):
    return repository / "deploy"


def test_shell_scripts_are_clean(repository):
    files = [path for folder in ("bin", "deploy", ".ci") for path in (repository / folder).iterdir() if path.is_file()]
    scripts = [path for path in files if path.suffix == ".sh" or re.match(rb"#!.*sh\b", path.read_bytes())]
    assert len(scripts) >= 8
    command = [tool("shellcheck"), "--external-sources", *scripts]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_container_file_is_clean(deploy):
    done = subprocess.run([tool("hadolint"), deploy / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def units(deploy, tmp_path):
    """The units with a program that is there, since systemd-analyze looks for it."""
    for path in (deploy / "systemd").iterdir():
        text = path.read_text().replace("/opt/edgekit/current/bin/edgekit", "/bin/true")
        (tmp_path / path.name).write_text(text)
    return tmp_path


def test_units_are_clean(units):
    command = [tool("systemd-analyze"), "verify", "--man=no", *units.iterdir()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", MOST_EXPOSED)
def test_units_stay_shut(units, name):
    command = [tool("systemd-analyze"), "security", "--offline=yes", units / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "offline" in done.stderr:
        pytest.skip("this systemd-analyze judges running services alone")
    assert float(re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)[1]) <= MOST_EXPOSED[name]


def test_the_service_speaks_with_systemd_as_the_runtime_does(deploy):
    text = (deploy / "systemd" / "edgekit.service").read_text()
    for line in (
        "Type=notify",
        "WatchdogSec=60",
        "RuntimeDirectory=edgekit",
        "Restart=always",
        "StartLimitIntervalSec=0",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize(
    ("table", "holds"),
    [
        ("[retention]\n# keep_days = 30.0\n", False),
        ("[retention]\nkeep_days = 30.0\n", True),
        ("retention = { least = 2, keep_gb=100.0 }\n", True),
        ("# [retention] keep_days = 3\n[retention]\nleast = 5\n", False),
    ],
)
def test_runs_are_deleted_only_where_the_site_sets_a_limit(deploy, tmp_path, table, holds):
    site = tmp_path / "trolley.toml"
    site.write_text(table)
    unit = (deploy / "systemd" / "edgekit-prune.service").read_text()
    condition = re.search(r"^ExecCondition=(.+)$", unit, re.MULTILINE)[1]
    command = shlex.split(condition.replace("/etc/edgekit/trolley.toml", str(site)))
    assert (subprocess.run(command, check=False).returncode == 0) == holds


def test_log_rotation_is_accepted(deploy):
    done = subprocess.run(
        [tool("logrotate"), "--debug", deploy / "log" / "logrotate-edgekit"],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert all("unknown user" in line or "skipping" in line for line in complaints), complaints


def test_udev_rules_have_known_keys_and_every_label(deploy):
    text = (deploy / "udev" / "70-edgekit-cameras.rules").read_text()
    rules = [line for line in text.splitlines() if line and not line.startswith("#")]
    key = re.compile(
        r'(ACTION|SUBSYSTEM|ATTR\{\w+\}|ENV\{\w+\}|IMPORT\{builtin\}|GOTO|LABEL|GROUP|MODE|SYMLINK)(==|!=|\+=|=)"[^"]*"$'
    )
    for rule in rules:
        for part in rule.split(", "):
            assert key.match(part), part
    assert set(re.findall(r'GOTO="(\w+)"', text)) == set(re.findall(r'LABEL="(\w+)"', text))


def test_nothing_names_a_package_index(deploy):
    for path in (path for path in deploy.rglob("*") if path.is_file()):
        assert not re.search(r"pypi|pythonhosted|anaconda\.org|npmjs|nvcr\.io", path.read_text()), path
