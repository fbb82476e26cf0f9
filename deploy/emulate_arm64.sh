#!/usr/bin/env bash
# Run the demo and the tests that need no torch in an emulated 64-bit ARM Debian: does everything that a Jetson installs
# load and count there? Slow (see docs/deploy.md for how long it took), so it is no part of CI.
#
#   sudo deploy/emulate_arm64.sh FOLDER [pytest arguments...]
#
# FOLDER gets the Debian (about 1.5 GB with everything) and is used again by the next call. Needs debootstrap and
# qemu-user-static. Wheels are downloaded outside and installed inside with --no-index, as in a greenhouse.
set -euo pipefail

folder=$(realpath -m "${1:?usage: $0 FOLDER [pytest arguments...]}")
shift
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$folder/root
wheels=$root/opt/wheels
suite=bookworm
python_version=3.11 # of that suite
python=${PYTHON:-python3}
packages=("edgekit[device]" pytest pytest-rerunfailures hypothesis matplotlib statsmodels)

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

allow_arm64_programs() {
    if [ ! -e /proc/sys/fs/binfmt_misc/register ]; then
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    fi
    if [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
        # The line of the Debian package; flag F opens the emulator now, so that it is found inside the root too.
        cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register
    fi
}

make_root() {
    if [ -e "$root/.ready" ]; then return; fi
    debootstrap --arch=arm64 --foreign --variant=minbase \
        --include=python3,python3-venv,libgl1,libglib2.0-0,ca-certificates "$suite" "$root"
    chroot "$root" /debootstrap/debootstrap --second-stage
    touch "$root/.ready"
}

download_wheels() {
    mkdir -p "$wheels"
    local platforms=()
    for minor in $(seq 17 35); do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done
    "$python" -m pip wheel --quiet --no-deps --wheel-dir "$wheels" "$repository"
    if [ "$wheels/.complete" -nt "$repository/pyproject.toml" ]; then return; fi # no dependency has changed since
    "$python" -m pip download --quiet --only-binary=:all: --dest "$wheels" --find-links "$wheels" \
        --python-version "$python_version" --platform manylinux2014_aarch64 "${platforms[@]}" \
        "${packages[@]}"
    touch "$wheels/.complete"
}

unmount() { # also what a call that was killed has left
    for place in proc dev; do
        while mountpoint -q "$root/$place"; do umount --recursive --lazy "$root/$place"; done
    done
}

inside() { # a processor like an Orin's: the emulator's own choice has SVE and SME, which it emulates very slowly
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=1 \
        QEMU_CPU="${QEMU_CPU:-cortex-a76}" "$@"
}

install_inside() {
    rm -rf "$root/opt/edgekit" && mkdir -p "$root/opt/edgekit"
    (cd "$repository" && git ls-files -z | tar --null --files-from=- --create) | tar --extract --directory "$root/opt/edgekit"
    [ -e "$root/opt/venv/bin/python" ] || inside python3 -m venv /opt/venv
    inside /opt/venv/bin/python -m pip install --quiet --no-index --find-links /opt/wheels --force-reinstall --no-deps edgekit
    inside /opt/venv/bin/python -m pip install --quiet --no-index --find-links /opt/wheels \
        "${packages[@]}"
}

[ "$(id -u)" = 0 ] || { echo "$0: mounts and chroots: run it as root" >&2; exit 1; }
for program in debootstrap qemu-aarch64-static git "$python"; do
    command -v "$program" >/dev/null || { echo "$0: $program is missing" >&2; exit 1; }
done

unmount
step "emulator"; allow_arm64_programs
step "Debian $suite, arm64"; make_root
step "wheels, downloaded outside"; download_wheels
trap unmount EXIT
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev" # else the host's own /dev/pts and /dev/shm would go when this one is unmounted
step "installing inside, without a network"; install_inside
step "machine"; inside uname -m
inside /opt/venv/bin/python -c 'import av, cv2, numpy, onnxruntime, pycocotools, scipy; print(numpy.__version__, cv2.__version__, onnxruntime.__version__)'
step "demo"; inside sh -c 'rm -rf /tmp/demo && exec /opt/venv/bin/edgekit demo --out /tmp/demo'
step "tests without torch"
inside sh -c 'cd /opt/edgekit && exec /opt/venv/bin/python -m pytest -m "not slow and not gpu and not torch and not shared" \
    -p no:cacheprovider --durations=10 "$@"' sh "$@"
step "done"
