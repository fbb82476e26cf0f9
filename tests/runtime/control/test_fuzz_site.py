"""Any site file is read or refused in one line; none opens the device to others without a token."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import Literal, Union, get_args, get_origin, get_type_hints

import pytest
import tomli_w
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edgekit.errors import EdgekitError, SettingsError
from edgekit.runtime.live.site import Site, read_site, ready_cameras
from edgekit.runtime.watch.settings import MetricsSettings, is_loopback

ODD = st.one_of(
    st.text(max_size=6), st.integers(-(2**80), 2**80), st.floats(), st.booleans(), st.dates(), st.just([]), st.just({}),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
    st.sampled_from(["\0", "../../etc/passwd", "/dev/null", "/dev/zero", "0.0.0.0", "::", "127.0.0.1", "x" * 20]),
)  # fmt: skip


def like(kind: object) -> st.SearchStrategy:
    """Values of a field's type, as TOML gives them, and now and then another."""
    return st.one_of(right(kind), right(kind), right(kind), ODD)


def right(kind: object) -> st.SearchStrategy:
    origin, choices = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return like(next(choice for choice in choices if choice is not type(None)))
    if origin is tuple:
        return st.lists(like(choices[0]), max_size=3)
    if origin is Literal:
        return st.sampled_from(choices)
    if is_dataclass(kind):
        return table(kind)
    plain = {bool: st.booleans(), int: st.integers(-5, 70_000), float: st.floats(-5, 1000), date: st.dates()}
    hosts = st.sampled_from(
        ["127.0.0.1", "0.0.0.0", "::1", "::", "localhost", "10.0.0.3", "0123456789abcdef", "a", "left.toml"]
    )
    return plain.get(kind, hosts | st.text(max_size=5))


def table(kind: type) -> st.SearchStrategy:
    """A table of the dataclass's keys, each there or not, with an unknown one now and then."""
    hints = get_type_hints(kind)
    keys = {field.name: like(hints[field.name]) for field in fields(kind)}
    return st.fixed_dictionaries({}, optional=keys | {"unknown_key": ODD})


USABLE = {"out": "runs", "cameras": [{"name": "c", "file": "left.toml"}]}
WITH_METRICS = right(MetricsSettings).map(lambda metrics: {**USABLE, "metrics": metrics})


def read(path: Path) -> Site | None:
    """The site, or None where it is refused in one line; any other error is a crash."""
    try:
        site = read_site(path)
        ready_cameras(site)
    except EdgekitError as error:
        refusal = str(error)
    else:
        return site
    assert "\n" not in refusal
    return None


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(table(Site) | st.builds(lambda words, more: {**words, **more}, table(Site), st.just(USABLE)) | WITH_METRICS)
def test_near_site_files(tmp_path: Path, repository: Path, words) -> None:
    path = tmp_path / "trolley.toml"
    (tmp_path / "left.toml").write_bytes((repository / "runtime/cameras/jetson.toml").read_bytes())
    try:
        path.write_text(tomli_w.dumps(words), "utf-8")
    except (UnicodeEncodeError, TypeError):  # lone surrogates are no TOML
        return
    site = read(path)
    if site is not None:
        metrics = site.metrics
        assert is_loopback(metrics.address) or metrics.token is not None or metrics.token_file is not None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"a = " + b"[" * 100_000)
@example(b"a" + b".a" * 2_000 + b" = 1")
@example(b"a = 1" + b"0" * 10_000)
@example(b'out = "a\\u0000b"')
@example(b'out = "runs"\n[[cameras]]\nname = "c"\nfile = "a\\u0000b"')
@example(b'out = "runs"\npx_per_metre = 1' + b"0" * 400 + b'\n[[cameras]]\nname = "c"\nfile = "x"')
def test_any_bytes_as_a_site_file(tmp_path: Path, data) -> None:
    path = tmp_path / "trolley.toml"
    path.write_bytes(data)
    read(path)


def test_what_the_fuzz_starts_from_is_usable(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "left.toml").write_bytes((repository / "runtime/cameras/jetson.toml").read_bytes())
    path = tmp_path / "trolley.toml"
    path.write_text(tomli_w.dumps({**USABLE, "metrics": {"host": "0.0.0.0", "token": "0123456789abcdef"}}))
    assert read(path) is not None


@pytest.mark.parametrize(
    "lines", ['host = "0.0.0.0"', 'host = "10.0.0.3"\ntoken = "short"', 'host = "trolley"', 'host = "::"']
)
def test_a_port_for_everybody_needs_a_token(tmp_path: Path, lines) -> None:
    path = tmp_path / "trolley.toml"
    path.write_text(f'out = "runs"\n[[cameras]]\nname = "c"\nfile = "left.toml"\n[metrics]\n{lines}\n')
    with pytest.raises(SettingsError, match=r"token|metrics\.host"):
        read_site(path)
