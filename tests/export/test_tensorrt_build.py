"""Building engines with the APIs of TensorRT 8.4, 10.3 and 11: the same calls, on fakes that fail as they do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from export.fake_tensorrt import PLAN, fake_tensorrt
from segment.graphs import INFO, echo_graph

from edgekit.errors import EngineError, ExportError
from edgekit.segment.engine_file import Device, read_sidecar, sidecar_path

pytest.importorskip("onnx")
api_module = pytest.importorskip("edgekit.export.tensorrt_api")
build_module = pytest.importorskip("edgekit.export.tensorrt_build")
TensorRtApi, build_engine = api_module.TensorRtApi, build_module.build_engine

VERSIONS = ["8.4.1", "10.3.0", "11.0.0"]


def device(version: str) -> Device:
    return Device("Orin", "8.7", version, "R36.4.3")


def build(path, version="10.3.0", *, seen=None, smoke=None, **fake):
    module = fake_tensorrt(version, **fake)
    reports = [] if seen is None else seen
    built = build_engine(
        path,
        api=TensorRtApi(module),
        device=device(version),
        progress=lambda *report: reports.append(report),
        smoke=smoke,
    )
    return built, module.log


@pytest.fixture
def graph(tmp_path):
    return echo_graph(tmp_path / "m.onnx")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_generation_builds(graph, version):
    built, log = build(graph, version)
    assert built.path.read_bytes() == PLAN
    assert built.sidecar.device == device(version)
    assert built.sidecar.info == INFO
    network = {"8.4.1": "network 1", "10.3.0": "network 2", "11.0.0": "network 0"}[version]
    assert network in log
    assert any(line.startswith("pool WORKSPACE") for line in log) == (version != "8.4.1")


def test_the_builders_outer_phases_are_reported(graph):
    seen = []
    build(graph, seen=seen)
    assert seen == [("Building", 0, 2), ("Building", 1, 2), ("Building", 2, 2)]


def test_timings_are_kept_for_the_next_build(graph):
    _, first = build(graph)
    assert "cache in 0" in first
    graph.with_suffix(".engine").unlink()
    _, second = build(graph)
    assert "cache in 7" in second


def test_an_engine_that_agrees_is_used_again(graph):
    assert not build(graph)[0].reused
    assert build(graph)[0].reused


@pytest.mark.parametrize("change", ["graph", "device", "sidecar", "empty", "no sidecar"])
def test_an_engine_that_does_not_agree_is_built_again(tmp_path, graph, change):
    engine = build(graph)[0].path
    version = "10.3.0"
    if change == "graph":
        echo_graph(graph, replace(INFO, class_names=("leaf",)))
    elif change == "device":
        version = "11.0.0"
    elif change == "sidecar":
        sidecar_path(engine).write_text("{")
    elif change == "empty":
        engine.write_bytes(b"")
    else:
        sidecar_path(engine).unlink()
    built, _ = build(graph, version)
    assert not built.reused
    assert read_sidecar(engine) == built.sidecar


def test_a_graph_that_the_parser_refuses_is_told_with_its_words(graph):
    with pytest.raises(ExportError, match="no such operator"):
        build(graph, refuse="In node 3: no such operator\nand more")
    assert not graph.with_suffix(".engine").exists()


def test_a_build_without_a_result_leaves_no_file(graph):
    with pytest.raises(ExportError, match="built no engine"):
        build(graph, builds=False)
    assert not graph.with_suffix(".engine").exists()


@pytest.mark.parametrize(("version", "flags"), [("8.4.1", ["flag FP16"]), ("10.3.0", []), ("11.0.0", [])])
def test_fp16_is_a_flag_where_typing_is_weak_and_the_graphs_own_types_elsewhere(tmp_path, version, flags):
    graph = echo_graph(tmp_path / "m.onnx", replace(INFO, precision="fp16"))
    _, log = build(graph, version, layers="Half")
    assert [line for line in log if line.startswith("flag")] == flags


def test_a_precision_that_cannot_be_honoured_is_an_error(tmp_path):
    graph = echo_graph(tmp_path / "m.onnx", replace(INFO, precision="int8"))
    with pytest.raises(EngineError, match="int8 cannot be honoured"):
        build(graph, "8.4.1")


def test_a_precision_that_was_not_built_is_an_error(tmp_path):
    graph = echo_graph(tmp_path / "m.onnx", replace(INFO, precision="fp16"))
    with pytest.raises(EngineError, match=r"asks for fp16, TensorRT 11\.0\.0 built fp32"):
        build(graph, "11.0.0", layers="Float")


def test_a_smoke_test_that_fails_stops_the_build(graph):
    def smoke(engine):
        raise EngineError("not the same")

    with pytest.raises(EngineError, match="not the same"):
        build(graph, smoke=smoke)


def test_external_data_is_part_of_the_digest(tmp_path):
    import onnx

    graph = echo_graph(tmp_path / "m.onnx")
    model = onnx.load(graph)
    onnx.save(model, graph, save_as_external_data=True, location="weights.bin", size_threshold=16)
    loose = onnx.load(graph, load_external_data=False)
    before = build_module.graph_digest(graph, loose)
    data = bytearray((tmp_path / "weights.bin").read_bytes())
    data[0] ^= 1
    (tmp_path / "weights.bin").write_bytes(data)
    assert build_module.graph_digest(graph, loose) != before
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(EngineError, match=r"weights\.bin"):
        build_module.graph_digest(graph, loose)
