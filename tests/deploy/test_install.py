"""install.sh from a bundle into a folder that stands for a device's disk, end to end."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys

import pytest

from edgekit.bundle import BundleContents, BundleTarget, build_bundle
from tests.deploy.test_bundle import silent
from tests.deploy.wheels import fake_edgekit, make_wheel

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHON = os.path.realpath(sys.executable) if sys.prefix == sys.base_prefix else sys._base_executable
JETPACK_6 = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 2025\n"


def make_bundle(folder, *, version="9.0"):
    shelf = folder / f"shelf-{version}"
    make_wheel(shelf, "fruitlib", "1.0")
    wheel = fake_edgekit(folder / "own", version)
    target = BundleTarget(HERE, platform.machine())
    build_bundle(folder / version, target, BundleContents(wheel=wheel, find_links=shelf, offline=True), report=silent)
    return folder / version


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    pytest.importorskip("uv")
    if HERE not in ("3.10", "3.11", "3.12", "3.13") or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("bundles are made for other Pythons and machines")
    return make_bundle(tmp_path_factory.mktemp("bundles"))


def jetson(root, *, release=JETPACK_6):
    """A disk of a Jetson: its release, and a TensorRT of the system."""
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "nv_tegra_release").write_text(release)
    packages = root / "usr" / "lib" / f"python{HERE}" / "dist-packages" / "tensorrt"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text("__version__ = '10.3.0'\n")
    return root


def install(bundle, root, *words, ok=True):
    command = [bundle / "install.sh", "--root", root, "--python", PYTHON, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done


def tree(root):
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if "/releases/" not in path.as_posix()}


@pytest.fixture(scope="module")
def installed(bundle, tmp_path_factory):
    root = jetson(tmp_path_factory.mktemp("disk"))
    done = install(bundle, root, "--camera", "left=serial:A1B2", "--camera", "right=port:pci-0:2.3:1.0")
    return root, done


def test_a_jetson_gets_everything(installed):
    root, done = installed
    assert "Jetson, L4T 36.4.3 (JetPack 6)" in done.stdout
    current = root / "opt" / "edgekit" / "current"
    found = tree(root)
    assert {
        "etc/edgekit/trolley.toml", "etc/edgekit/cameras/usb.toml", "etc/systemd/system/edgekit.service",
        "etc/systemd/system/edgekit-sync.timer", "etc/systemd/system/edgekit-prune.timer",
        "etc/udev/rules.d/70-edgekit-cameras.rules",
        "etc/systemd/journald.conf.d/edgekit.conf", "etc/logrotate.d/edgekit", "var/lib/edgekit/runs",
    } <= found  # fmt: skip
    assert (root / "usr/local/bin/edgekit").readlink().as_posix() == "/opt/edgekit/current/bin/edgekit"
    subprocess.run([current / "bin" / "edgekit", "--version"], check=True)
    listed = subprocess.run(
        [current / "bin" / "python", "-m", "pip", "list"], capture_output=True, text=True, check=True
    )
    assert "fruitlib" in listed.stdout


def test_the_environment_sees_the_systems_tensorrt(installed):
    python = installed[0] / "opt" / "edgekit" / "current" / "bin" / "python"
    words = [python, "-c", "import tensorrt; print(tensorrt.__version__)"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "10.3.0\n"


def test_models_go_into_the_store_and_the_engine_waits_for_pycuda(installed):
    root, done = installed
    calls = (root / "opt" / "edgekit" / "current" / "calls").read_text()
    assert "models install" in calls
    assert f"--activate --store {root}/var/lib/edgekit/store" in calls
    assert "no engines; edgekit doctor tells why" in done.stderr


def test_cameras_get_the_names_that_were_asked_for(installed):
    text = (installed[0] / "etc/udev/rules.d/71-edgekit-names.rules").read_text()
    assert 'ENV{ID_SERIAL_SHORT}=="A1B2", SYMLINK+="edgekit/left"' in text
    assert 'ENV{ID_PATH}=="pci-0:2.3:1.0", SYMLINK+="edgekit/right"' in text


def test_the_same_again_changes_nothing_and_keeps_what_was_edited(bundle, installed):
    root, _ = installed
    site = root / "etc" / "edgekit" / "trolley.toml"
    assert 'out = "/var/lib/edgekit/runs"' in site.read_text()
    site.write_text(site.read_text() + "# mine\n")
    release = (root / "opt" / "edgekit" / "current").readlink()
    before = tree(root)
    done = install(bundle, root)
    assert "is there already" in done.stdout
    assert site.read_text().endswith("# mine\n")
    assert (root / "opt" / "edgekit" / "current").readlink() == release
    assert tree(root) == before


def test_an_upgrade_switches_at_its_end_and_keeps_the_one_before(bundle, tmp_path, tmp_path_factory):
    root = tmp_path / "disk"
    root.mkdir()
    install(bundle, root)
    link = root / "opt" / "edgekit" / "current"
    first = link.readlink()
    torn = make_bundle(tmp_path, version="9.1")
    wheel = next((torn / "wheels").glob("edgekit-*.whl"))
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:100])
    assert "the bundle is damaged" in install(torn, root, ok=False).stderr
    assert link.readlink() == first
    wheel.write_bytes(whole)
    half = root / "opt" / "edgekit" / "releases"
    install(torn, root)
    assert link.readlink() != first
    assert len(list(half.iterdir())) == 2
    (link / ".ready").unlink()  # as if the power had gone while it was made
    shutil.rmtree(link / "bin")
    assert "making" in install(torn, root).stdout
    subprocess.run([link / "bin" / "edgekit", "--version"], check=True)

    install(torn, root, "--uninstall")
    left = tree(root)
    assert "etc/edgekit/trolley.toml" in left
    assert "var/lib/edgekit/runs" in left
    assert not any("opt/edgekit" in name or "systemd/system/edgekit" in name for name in left)
    install(torn, root, "--uninstall", "--purge")
    assert not any("edgekit" in name for name in tree(root))


def test_a_dry_run_says_what_would_be_done_and_does_nothing(bundle, tmp_path):
    root = jetson(tmp_path / "disk")
    before = tree(root)
    done = install(bundle, root, "--dry-run", "--camera", "left=serial:1")
    for word in ("-m venv", "--no-index", "models install", "edgekit.service", "71-edgekit-names", "current release"):
        assert word in done.stdout
    assert tree(root) == before


@pytest.mark.parametrize(
    ("release", "words", "told"),
    [
        ("# R35 (release), REVISION: 4.1, GCID: 1\n", (), "JetPack 5 or older"),
        (JETPACK_6, ("--camera", 'left=serial:"; reboot'), "write NAME=serial:X"),
        (JETPACK_6, ("--jetpack", "4"), "JetPack 6 and 7"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_changed(bundle, tmp_path, release, words, told):
    root = jetson(tmp_path / "disk", release=release)
    before = tree(root)
    assert told in install(bundle, root, *words, ok=False).stderr
    assert tree(root) == before


def test_a_bundle_for_another_machine_is_refused(bundle, tmp_path):
    other = shutil.copytree(bundle, tmp_path / "other")
    info = other / "bundle.json"
    info.write_text(info.read_text().replace(f'"{platform.machine()}"', '"riscv64"'))
    sums = subprocess.run(
        "find . -type f ! -name SHA256SUMS -printf '%P\\0' | xargs -0 sha256sum > SHA256SUMS",
        shell=True,
        cwd=other,
        check=True,
    )
    assert sums.returncode == 0
    assert "the bundle is for" in install(other, tmp_path / "disk", ok=False).stderr


def test_a_checkout_is_no_bundle(repository, tmp_path):
    assert "edgekit bundle, or use --online" in install(repository / "deploy", tmp_path, ok=False).stderr
