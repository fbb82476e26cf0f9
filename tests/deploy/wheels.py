"""Small wheels, so that bundles and installations can be tried without a network."""

from __future__ import annotations

import base64
import hashlib
import zipfile

LOGS_ITSELF = """
import os, sys
def main():
    with open(os.path.join(sys.prefix, "calls"), "a") as log:
        log.write(" ".join(sys.argv[1:]) + "\\n")
    if sys.argv[1:2] == ["--fail"]:
        sys.exit(1)
"""


def make_wheel(folder, name, version, *, requires=(), tag="py3-none-any", body="", script=None):
    """Write a wheel with one module; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += ["Provides-Extra: device", *(f"Requires-Dist: {item}" for item in requires)]
    files = {
        f"{name}/__init__.py": body,
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if script:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script} = {name}:main\n"
    record = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
    return path


def _digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def fake_edgekit(folder, version="9.0", *, requires=("fruitlib>=1",)):
    """A wheel of the name edgekit whose program writes down how it is called."""
    return make_wheel(folder, "edgekit", version, requires=requires, body=LOGS_ITSELF, script="edgekit")
