"""Engines as files: header, sidecar, and everything that is none."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace

import pytest
from segment.graphs import INFO

from edgekit.errors import EngineError
from edgekit.segment.engine_file import (
    Device,
    Sidecar,
    read_engine,
    read_sidecar,
    sidecar_path,
    write_sidecar,
)

PLAN = b"ftrt" + bytes(range(256)) * 8
ORIN = Device("Orin", "8.7", "10.3.0", "R36.4.3")


def with_header(header: bytes, plan: bytes = PLAN) -> bytes:
    """The way Ultralytics writes an engine."""
    return len(header).to_bytes(4, "little") + header + plan


def test_a_bare_plan_and_one_behind_ultralytics_header_are_read(tmp_path):
    path = tmp_path / "m.engine"
    path.write_bytes(PLAN)
    assert (read_engine(path).plan, read_engine(path).header) == (PLAN, None)
    path.write_bytes(with_header(json.dumps({"task": "segment", "batch": 1}).encode()))
    assert (read_engine(path).plan, read_engine(path).header) == (PLAN, {"task": "segment", "batch": 1})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1234\n" * 10, "text"),
        (PLAN[:100], "cut short"),
        (with_header(b'{"task": "segment"}', b""), "text|cut short"),
        (with_header(b'{"task": "segment"}')[:15], "header"),
        (with_header(b'{"task": "segment"}', PLAN[:50]), "cut short"),
        (with_header(b"{no json}"), "header"),
    ],
)
def test_what_is_no_engine_is_refused(tmp_path, content, told):
    path = tmp_path / "m.engine"
    path.write_bytes(content)
    with pytest.raises(EngineError, match=told):
        read_engine(path)


def test_a_missing_engine_is_refused(tmp_path):
    with pytest.raises(EngineError, match="cannot read"):
        read_engine(tmp_path / "m.engine")


def test_a_sidecar_comes_back_as_it_was(tmp_path):
    path = tmp_path / "m.engine"
    sidecar = Sidecar("a" * 64, "fp16", ORIN, INFO.to_metadata())
    assert read_sidecar(path) is None
    write_sidecar(path, sidecar)
    assert read_sidecar(path) == sidecar
    assert read_sidecar(path).info == INFO


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_sidecar_that_was_cut_is_damaged_not_missing(tmp_path, share):
    path = tmp_path / "m.engine"
    write_sidecar(path, Sidecar("a" * 64, "fp16", ORIN, INFO.to_metadata()))
    text = sidecar_path(path).read_bytes()
    sidecar_path(path).write_bytes(text[: int(len(text) * share)])
    with pytest.raises(EngineError, match="damaged"):
        read_sidecar(path)


@pytest.mark.parametrize(
    "change",
    [{"gpu_name": "RTX 4090"}, {"compute_capability": "8.9"}, {"tensorrt_version": "10.7.0"}, {"jetpack": None}],
)
def test_an_engine_of_another_device_is_told_apart(change):
    sidecar = Sidecar("a" * 64, "fp16", ORIN, INFO.to_metadata())
    assert sidecar.differences(ORIN, onnx_sha256="a" * 64) == []
    (line,) = sidecar.differences(replace(ORIN, **change))
    assert next(iter(change)) in line


def test_an_engine_of_another_graph_is_told_apart():
    (line,) = Sidecar("a" * 64, "fp16", ORIN, INFO.to_metadata()).differences(ORIN, onnx_sha256="b" * 64)
    assert "another graph" in line


def test_random_bytes_never_crash_the_reader(tmp_path):
    path = tmp_path / "m.engine"
    for length in (1, 3, 4, 5, 300):
        for _ in range(20):
            path.write_bytes(os.urandom(length))
            with contextlib.suppress(EngineError):
                assert read_engine(path).plan in path.read_bytes()
