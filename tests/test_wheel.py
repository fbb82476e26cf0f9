"""What is installed from a wheel is what the repository holds."""

import shutil
import subprocess
import sys
import zipfile

import pytest

from edgekit.templates import KINDS, deploy_files, template_files, templates_root


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory, repository):
    if not (repository / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs a git checkout to tell which files belong to the repository")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(repository)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("edgekit-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_the_package_and_the_templates_and_no_more(wheel_names, repository):
    listed = subprocess.run(["git", "ls-files", "edgekit"], cwd=repository, capture_output=True, text=True, check=True)
    templates = {
        f"edgekit/templates/{path.relative_to(templates_root()).as_posix()}"
        for kind in KINDS
        for path in template_files(kind)
    }
    templates |= {f"edgekit/templates/deploy/{place.as_posix()}" for _, place in deploy_files()}
    assert templates
    assert wheel_names == set(listed.stdout.split()) | templates
