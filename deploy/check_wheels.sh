#!/usr/bin/env bash
# Does everything that a device gets have a wheel for 64-bit ARM, on the Python of JetPack 6 (3.10) and 7 (3.12)?
# Resolves without downloading the wheels, so it takes seconds. Give other versions as arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

uv=${UV:-$(command -v uv || echo "${VIRTUAL_ENV:-.venv-test}/bin/uv")}
[ -x "$uv" ] || { echo "$0: uv is missing: pip install \"edgekit[bundle]\"" >&2; exit 1; }
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(3.10 3.12)

for version in "${versions[@]}"; do
    locked=$("$uv" pip compile pyproject.toml --extra device --quiet --no-annotate --no-header \
        --only-binary :all: --python-version "$version" --python-platform aarch64-manylinux_2_28)
    echo "Python $version, aarch64: $(grep -c == <<<"$locked") wheels"
    grep -iE '^(numpy|scipy|opencv-python|onnxruntime|av|pycocotools|psutil)==' <<<"$locked" | sed 's/^/  /'
done
