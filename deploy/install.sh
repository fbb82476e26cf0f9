#!/usr/bin/env bash
# Install edgekit on a Jetson (JetPack 6 or 7) or another Linux machine; the same command again upgrades or does nothing.
#
#   sudo ./install.sh                       in a bundle (edgekit bundle): needs no network
#   sudo ./install.sh --online              in a checkout: packages come from the index
#   ./install.sh --dry-run                  say what would be done
#   sudo ./install.sh --uninstall           take it off; site files, models and runs stay (--purge: those go too)
#
# What lies where: /opt/edgekit/releases/* (current names one), /etc/edgekit (site files), /var/lib/edgekit (runs, models).
set -euo pipefail

usage() {
    cat <<'EOF'
usage: install.sh [options]
  --dry-run          say what would be done, and change nothing
  --online           take packages from the index instead of the bundle's wheels
  --python PROGRAM   Python to use; default: the one that JetPack's TensorRT is bound to
  --no-engines       do not build TensorRT engines
  --no-service       do not enable or start the service
  --no-system        no units, udev rules and log settings either: for containers
  --jetpack 6|7      where /etc/nv_tegra_release does not tell: for containers
  --camera NAME=serial:X | NAME=port:X
                     give a USB camera the name /dev/edgekit/NAME; may be given again (udevadm info tells ID_PATH)
  --root FOLDER      install below FOLDER, for images and tests: no users, no services
  --uninstall        take edgekit off, but for /etc/edgekit and /var/lib/edgekit
  --purge            with --uninstall: take those off too
EOF
}

root="" dry_run=0 online=0 python="" engines=1 service=1 system=1 jetpack="" uninstall=0 purge=0
cameras=()
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }
change() { # a command that changes the machine
    if [ "$dry_run" = 1 ]; then say "would: $*"; else "$@"; fi
}
on_this_machine() { [ -z "$root" ]; }

read_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            --dry-run) dry_run=1 ;;
            --online) online=1 ;;
            --no-engines) engines=0 ;;
            --no-service) service=0 ;;
            --no-system) system=0 service=0 ;;
            --jetpack) jetpack=${2:?--jetpack needs 6 or 7}; shift ;;
            --uninstall) uninstall=1 ;;
            --purge) purge=1 ;;
            --python) python=${2:?--python needs a program}; shift ;;
            --root) root=$(realpath -m "${2:?--root needs a folder}"); shift ;;
            --camera) cameras+=("${2:?--camera needs NAME=serial:X or NAME=port:X}"); shift ;;
            -h | --help) usage; exit 0 ;;
            *) usage >&2; exit 2 ;;
        esac
        shift
    done
    prefix=$root/opt/edgekit etc=$root/etc/edgekit state=$root/var/lib/edgekit
    units=$root/etc/systemd/system rules=$root/etc/udev/rules.d
    for camera in "${cameras[@]}"; do
        [[ $camera =~ ^[A-Za-z0-9_-]+=(serial|port):[A-Za-z0-9:._-]+$ ]] \
            || die "--camera $camera: write NAME=serial:X or NAME=port:X"
    done
}

check_rights() {
    if on_this_machine && [ "$dry_run" = 0 ] && [ "$(id -u)" != 0 ]; then
        die "it writes to /opt, /etc and /var: run it with sudo (or --dry-run)"
    fi
}

check_jetpack() { # sets l4t and jetpack; both are empty on other machines
    l4t=""
    local file=$root/etc/nv_tegra_release
    case $jetpack in
        "") ;;
        6) l4t=36 ;;
        7) l4t=38 ;;
        *) die "--jetpack $jetpack: edgekit runs on JetPack 6 and 7" ;;
    esac
    if [ -n "$l4t" ]; then
        say "machine: JetPack $jetpack, as told"
        return
    fi
    if [ ! -r "$file" ]; then
        say "machine: no Jetson ($(uname -m)); models will run on ONNX Runtime"
        return
    fi
    l4t=$(sed -nE 's/^# R([0-9]+) \(release\), REVISION: ([0-9.]+).*/\1.\2/p' "$file")
    case ${l4t%%.*} in
        36) jetpack=6 ;;
        38 | 39) jetpack=7 ;;
        "") warn "$file cannot be read: TensorRT may not be found" ;;
        3[2-5]) die "L4T $l4t is JetPack 5 or older, whose Python and TensorRT are too old: install JetPack 6 or 7" ;;
        *) warn "L4T $l4t is newer than this installer knows" ;;
    esac
    say "machine: Jetson, L4T ${l4t:-unknown}${jetpack:+ (JetPack $jetpack)}"
}

choose_python() { # sets python and python_version
    local wanted=""
    case $jetpack in 6) wanted=3.10 ;; 7) wanted=3.12 ;; esac
    if [ -z "$python" ]; then
        python=$(command -v "python${wanted:-3}" || true)
        [ -n "$python" ] || die "python${wanted:-3} is missing: apt-get install python${wanted:-3} python${wanted:-3}-venv"
    fi
    python_version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || die "$python does not run"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "$python is $python_version; edgekit needs 3.10 or newer"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || die "venv is missing: apt-get install python$python_version-venv"
    if [ -n "$wanted" ] && [ "$python_version" != "$wanted" ]; then
        warn "Python $python_version does not see the TensorRT of JetPack $jetpack, which is bound to $wanted"
    fi
    say "python: $python ($python_version)"
}

check_bundle() { # the bundle is whole, and made for this machine
    if [ "$online" = 1 ]; then return; fi
    [ -f "$here/bundle.json" ] || die "this folder is no bundle: make one with edgekit bundle, or use --online"
    (cd "$here" && sha256sum --check --quiet --strict SHA256SUMS) || die "the bundle is damaged: copy it again"
    local made_for
    made_for=$("$python" - "$here/bundle.json" <<'EOF'
import json, sys
info = json.load(open(sys.argv[1]))
print(info["python"], info["machine"])
EOF
    )
    [ "$made_for" = "$python_version $(uname -m)" ] \
        || die "the bundle is for Python and machine \"$made_for\", this is \"$python_version $(uname -m)\""
    say "bundle: whole, for Python $python_version on $(uname -m)"
}

release_name() { # differs where anything that is installed differs
    local digest
    if [ "$online" = 1 ]; then
        digest=$(cd "$here/.." && sed -n 's/^__version__ = "\(.*\)"/\1/p' edgekit/__init__.py; date +%Y%m%d)
    else
        digest=$(cat "$here/SHA256SUMS")
    fi
    printf 'py%s-%s' "$python_version" "$(printf '%s%s' "$digest" "$l4t" | sha256sum | cut -c1-12)"
}

make_user() {
    on_this_machine || return 0
    if ! id edgekit >/dev/null 2>&1; then
        change useradd --system --home-dir /var/lib/edgekit --no-create-home --shell /usr/sbin/nologin edgekit
    fi
    local group
    for group in video render dialout; do # cameras, GPU, an encoder on a serial port
        if getent group "$group" >/dev/null; then change usermod --append --groups "$group" edgekit; fi
    done
}

make_folders() {
    change install -d -m 0755 "$prefix/releases" "$etc"
    if on_this_machine; then
        change install -d -m 0750 -o edgekit -g edgekit "$state" "$state/runs" "$state/store"
    else
        change install -d -m 0750 "$state" "$state/runs" "$state/store"
    fi
}

make_environment() { # a release of its own, so that the one in use stays whole until the new one is
    release=$prefix/releases/$(release_name)
    if [ -e "$release/.ready" ]; then
        say "release: ${release##*/} is there already"
        return
    fi
    say "release: making ${release##*/}"
    change rm -rf "$release"
    change "$python" -m venv "$release"
    local pip=("$release/bin/python" -m pip install --quiet --disable-pip-version-check)
    if [ "$online" = 1 ]; then
        change "${pip[@]}" "$here/..[device]"
    else
        change "${pip[@]}" --no-index --find-links "$here/wheels" --require-hashes --requirement "$here/requirements.txt"
        change "${pip[@]}" --no-index --no-deps "$here"/wheels/edgekit-*.whl
        if compgen -G "$here/wheels/pycuda-*.whl" >/dev/null; then
            change "${pip[@]}" --no-index --find-links "$here/wheels" pycuda
        fi
    fi
    link_tensorrt
    change touch "$release/.ready"
}

link_tensorrt() { # the system's TensorRT (and pycuda), which an environment does not see by itself
    [ -n "$l4t" ] || return 0
    local target=$release/lib/python$python_version/site-packages folder package found=0
    for folder in "$root/usr/lib/python$python_version/dist-packages" "$root/usr/lib/python3/dist-packages"; do
        for package in tensorrt tensorrt_dispatch tensorrt_lean pycuda pytools; do
            if [ -e "$folder/$package" ] && [ ! -e "$target/$package" ]; then
                change ln -s "$folder/$package" "$target/$package"
                if [ "$package" = tensorrt ]; then found=1; fi
            fi
        done
    done
    if [ "$found" = 1 ]; then
        say "tensorrt: linked from the system"
    else
        warn "the system has no TensorRT for Python $python_version: apt-get install python3-libnvinfer; models run on the processor"
    fi
}

install_models() { # into the store, where edgekit models lists them and rolls them back
    local model incoming=$state/incoming
    [ -d "$here/models" ] || return 0
    change rm -rf "$incoming"
    change cp -r "$here/models" "$incoming" # the user of the service may not read where the bundle lies
    change chmod -R a+rX "$incoming"
    for model in "$here"/models/*.onnx; do
        [ -e "$model" ] || continue
        change as_edgekit "$release/bin/edgekit" models install "$incoming/${model##*/}" --activate --store "$state/store"
    done
    change rm -rf "$incoming"
}

build_engines() { # on the device, since an engine fits one GPU and one TensorRT
    if [ "$engines" = 0 ] || [ -z "$l4t" ]; then return 0; fi
    if [ "$dry_run" = 1 ]; then say "would: build the engines of the installed models"; return 0; fi
    if ! "$release/bin/python" -c 'import tensorrt, pycuda.driver' 2>/dev/null; then
        warn "TensorRT or pycuda cannot be imported: no engines; edgekit doctor tells why"
        return 0
    fi
    local model
    model=$(as_edgekit "$release/bin/edgekit" models path --store "$state/store")
    say "engine: building for $model; this takes minutes"
    as_edgekit "$release/bin/edgekit" export "$model" --format engine \
        || warn "the engine could not be built: ONNX Runtime serves until it is"
}

as_edgekit() { # as the user of the service, where there is one
    if on_this_machine && [ "$(id -u)" = 0 ]; then runuser -u edgekit -- env HOME="$state" "$@"; else "$@"; fi
}

install_site() { # never over a file that is there
    local source=$here/site path name fresh=1
    if [ ! -d "$source" ]; then source=$here/../runtime; fi
    if [ -e "$etc/trolley.toml" ]; then fresh=0; fi
    while IFS= read -r -d '' path; do
        name=${path#"$source"/}
        if [ -e "$etc/$name" ]; then
            say "site: kept $etc/$name"
        else
            change install -D -m 0644 "$path" "$etc/$name"
        fi
    done < <(find "$source" -type f -name '*.toml' -print0)
    if [ "$dry_run" = 0 ] && [ "$fresh" = 1 ] && [ -e "$etc/trolley.toml" ]; then
        sed -i 's|^out = "runs"|out = "/var/lib/edgekit/runs"|' "$etc/trolley.toml"
    fi
}

install_system_files() {
    change install -d "$root/usr/local/bin"
    change ln -sfn /opt/edgekit/current/bin/edgekit "$root/usr/local/bin/edgekit"
    if [ "$system" = 0 ]; then return 0; fi
    change install -d -m 0755 "$units" "$rules"
    change install -m 0644 "$here"/systemd/edgekit*.service "$here"/systemd/edgekit*.timer "$units/"
    change install -m 0644 "$here/udev/70-edgekit-cameras.rules" "$rules/"
    if [ ${#cameras[@]} -gt 0 ]; then write_camera_names; fi
    change install -D -m 0644 "$here/log/journald-edgekit.conf" "$root/etc/systemd/journald.conf.d/edgekit.conf"
    change install -D -m 0644 "$here/log/logrotate-edgekit" "$root/etc/logrotate.d/edgekit"
}

write_camera_names() {
    local camera name kind value key lines="# Written by install.sh --camera."
    for camera in "${cameras[@]}"; do
        name=${camera%%=*} kind=${camera#*=} value=${camera#*:}
        kind=${kind%%:*}
        if [ "$kind" = serial ]; then key=ID_SERIAL_SHORT; else key=ID_PATH; fi
        lines+=$'\n'"SUBSYSTEM==\"video4linux\", ATTR{index}==\"0\", ENV{$key}==\"$value\", SYMLINK+=\"edgekit/$name\""
    done
    if [ "$dry_run" = 1 ]; then say "would: write $rules/71-edgekit-names.rules"; return; fi
    printf '%s\n' "$lines" >"$rules/71-edgekit-names.rules"
}

switch_release() { # one rename: there is no moment without a release
    if [ "$dry_run" = 1 ]; then say "would: make ${release##*/} the current release"; return; fi
    ln -sfn "releases/${release##*/}" "$prefix/current.new"
    mv -T "$prefix/current.new" "$prefix/current"
    # The one before stays, to go back to; older ones go.
    find "$prefix/releases" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +3 | cut -d' ' -f2- \
        | while IFS= read -r old; do if [ "$old" != "$release" ]; then rm -rf "$old"; fi; done
}

start_service() {
    if ! on_this_machine || [ "$system" = 0 ]; then return 0; fi
    change udevadm control --reload
    change udevadm trigger --subsystem-match=video4linux
    change systemctl daemon-reload
    if [ "$service" = 0 ]; then return 0; fi
    change systemctl restart systemd-journald
    change systemctl enable edgekit.service edgekit-sync.timer edgekit-prune.timer
    change systemctl restart edgekit.service edgekit-sync.timer edgekit-prune.timer
}

take_off() {
    if on_this_machine && command -v systemctl >/dev/null; then
        change systemctl disable --now edgekit.service edgekit-sync.timer edgekit-prune.timer || true
    fi
    change rm -f "$units"/edgekit.service "$units"/edgekit-sync.{service,timer} "$units"/edgekit-prune.{service,timer} \
        "$rules"/70-edgekit-cameras.rules "$rules"/71-edgekit-names.rules \
        "$root/etc/systemd/journald.conf.d/edgekit.conf" "$root/etc/logrotate.d/edgekit" "$root/usr/local/bin/edgekit"
    change rm -rf "$prefix"
    if [ "$purge" = 1 ]; then
        change rm -rf "$etc" "$state"
        if on_this_machine && id edgekit >/dev/null 2>&1; then change userdel edgekit; fi
    else
        say "kept: $etc and $state"
    fi
    if on_this_machine && command -v systemctl >/dev/null; then change systemctl daemon-reload; fi
}

main() {
    read_options "$@"
    check_rights
    if [ "$uninstall" = 1 ]; then
        take_off
        say "edgekit is taken off"
        return
    fi
    check_jetpack
    choose_python
    check_bundle
    make_user
    make_folders
    make_environment
    install_models
    build_engines
    install_site
    install_system_files
    switch_release
    start_service
    say "done: edit $etc/trolley.toml, then: edgekit doctor --site $etc/trolley.toml"
}

main "$@"
