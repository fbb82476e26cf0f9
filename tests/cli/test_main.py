"""What becomes of an error, and of being stopped."""

import signal
import subprocess
import sys

import pytest

WAITING = """
import sys, time
import typer
from edgekit.cli import main as module
def wait():
    print("ready", flush=True)
    time.sleep(60)
module.app = wait
module.main()
"""


@pytest.mark.parametrize(
    ("command", "then"),
    [
        ("run", "the same command goes on from there"),
        ("sync", "the same command goes on from there"),
        ("bench", "nothing of it is resumed: start it again"),
    ],
)
def test_being_stopped_is_one_line_that_is_true_and_an_exit_code(command, then):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert said.splitlines() == [f"edgekit: stopped (SIGTERM); {then}"]


def test_an_error_of_the_user_is_one_line_and_its_exit_code(tmp_path):
    command = [sys.executable, "-m", "edgekit", "count", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 40
    assert done.stderr.startswith("edgekit: ")
    assert done.stderr.count("\n") == 1
