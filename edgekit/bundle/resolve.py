"""Which wheels: resolved for the device, on another machine, with a digest of each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from edgekit.bundle.settings import BundleContents, BundleTarget
from edgekit.errors import BundleError, MissingDependencyError

EXTRAS = "device"
"""Extras that a device gets."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def lock(wheel: Path, target: BundleTarget, contents: BundleContents) -> str:
    """Exact versions with digests of all that edgekit needs there, in the form of a requirements file.

    pip alone would judge `python_version < '3.11'` by the Python that it runs on; uv judges it by the target's.

    Raises:
        MissingDependencyError: uv is not installed.
        BundleError: a package has no wheel for the target.
    """
    words = [
        *_uv(), "pip", "compile", "-", "--quiet", "--no-annotate", "--no-header", "--generate-hashes",
        "--only-binary", ":all:", "--python-version", target.python, "--python-platform", target.uv_platform,
        *_sources(contents),
    ]  # fmt: skip
    done = subprocess.run(words, input=f"{_requirement(wheel)}\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise BundleError(f"no wheels for Python {target.python} on {target.machine}: {_last_lines(done.stderr)}")
    kept = [block for block in re.split(r"\n(?=\S)", done.stdout) if not re.match(r"edgekit[\s\[@]", block)]
    return "\n".join(kept).strip() + "\n"


def pinned(requirements: str) -> dict[str, str]:
    """Package -> version of a requirements file."""
    return dict(_PIN.findall(requirements))


def download(requirements: Path, folder: Path, target: BundleTarget, contents: BundleContents) -> None:
    """Put the locked wheels into a folder; each is compared with its digest.

    Raises:
        BundleError: one cannot be had, or is not what was locked.
    """
    platforms = [word for tag in target.pip_platforms() for word in ("--platform", tag)]
    words = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary=:all:", "--require-hashes", "--requirement", str(requirements), "--dest", str(folder),
        "--python-version", target.python, "--implementation", "cp", *platforms, *_sources(contents),
    ]  # fmt: skip
    _run(words, "cannot download the wheels")


def own_wheel(folder: Path, contents: BundleContents, checkout: Path) -> Path:
    """edgekit's own wheel in a folder: the one that is given, or one built from the checkout.

    Raises:
        BundleError: there is neither.
    """
    if contents.wheel is not None:
        target = folder / contents.wheel.name
        target.write_bytes(contents.wheel.read_bytes())
        return target
    if not (checkout / "pyproject.toml").is_file():
        mend = "name its wheel with --wheel, or run this in a checkout"
        raise BundleError("edgekit was installed from a wheel, so none can be built here", mend=mend)
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _run([*words, "--wheel-dir", str(folder), str(checkout)], "cannot build edgekit's wheel")
    return next(folder.glob("edgekit-*.whl"))


def _requirement(wheel: Path) -> str:
    return f"edgekit[{EXTRAS}] @ {wheel.resolve().as_uri()}"


def _sources(contents: BundleContents) -> list[str]:
    links = [] if contents.find_links is None else ["--find-links", str(contents.find_links)]
    return [*links, "--no-index"] if contents.offline else links


def _uv() -> list[str]:
    try:
        from uv import find_uv_bin
    except ImportError as error:
        raise MissingDependencyError("a bundle needs uv", mend='pip install "edgekit[bundle]"') from error
    return [find_uv_bin()]


def _run(words: Sequence[str], what: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BundleError(f"{what}: {_last_lines(done.stderr)}")


def _last_lines(text: str) -> str:
    return " ".join(text.split())[-600:] or "no message"
