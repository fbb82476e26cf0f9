# shellcheck shell=sh
# Make a virtual environment and install edgekit into it: environment FOLDER EXTRAS [PYTHON].
# Sourced by the scripts beside it. Does nothing where the environment is newer than pyproject.toml.
environment() {
    folder=$1 extras=$2 python=${3:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
        echo "edgekit needs Python 3.10 or newer, $python is $("$python" --version 2>&1); set PYTHON to a newer one" >&2
        return 1
    }
    if [ -n "$(find "$folder/.ready" -newer pyproject.toml 2>/dev/null)" ]; then return 0; fi
    "$python" -m venv "$folder" || {
        echo "cannot make a virtual environment in $folder; on Debian and Ubuntu: apt-get install python3-venv" >&2
        return 1
    }
    echo "installing edgekit into $folder ..." >&2
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".$extras" || return 1
    touch "$folder/.ready"
}
