"""The segmenter on ONNX Runtime: batches, valid rows, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gpu.checks import every_thread_gets_its_own
from segment.graphs import INFO, OUTPUTS, echo_graph, tiles_with_counts, with_batch

from edgekit.contracts import Segmenter
from edgekit.errors import ContractError, ModelError, ProviderError, SettingsError, StorageError
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.segment.providers import CPU, CUDA, RTX, TENSORRT, provider_options, wanted_providers

onnx = pytest.importorskip("onnx")


@pytest.fixture
def segmenter(tmp_path):
    return open_segmenter(echo_graph(tmp_path / "m.onnx"))


def test_a_segmenter_keeps_the_protocol(segmenter):
    assert isinstance(segmenter, Segmenter)
    assert segmenter.info == INFO
    assert segmenter.provider.requested == segmenter.provider.effective == "CPUExecutionProvider"


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
@pytest.mark.parametrize("counts", [(), (3,), (3, 0), (0, 2, 5, 1, 4)])
def test_one_result_a_tile_in_their_order_for_every_batch_size(tmp_path, batch, counts):
    segmenter = open_segmenter(echo_graph(tmp_path / "m.onnx", with_batch(batch)))
    results = segmenter.segment(tiles_with_counts(*counts))
    assert [len(result.instances) for result in results] == list(counts)


def test_rows_past_the_count_are_never_looked_at(segmenter):
    full, none, two = segmenter.segment(tiles_with_counts(5, 0, 2))
    assert len(none.instances) == 0
    assert len(none.instances.masks) == 0
    np.testing.assert_allclose(two.instances.scores, [0.9, 0.8])
    assert len(full.instances) == 5


def test_the_next_batch_does_not_change_results_that_were_given_out(segmenter):
    (first,) = segmenter.segment(tiles_with_counts(3))
    before = first.instances.scores.copy()
    segmenter.segment(tiles_with_counts(0, 5, 1))
    np.testing.assert_array_equal(first.instances.scores, before)
    assert [mask.area_px for mask in first.instances.masks] == [32 * 32] * 3


def test_a_cut_to_the_limit_is_told(segmenter):
    (result,) = segmenter.segment(tiles_with_counts(7))
    assert (len(result.instances), result.candidates, result.cut_to_limit) == (5, 7, True)


@pytest.mark.parametrize(
    ("tiles", "told"),
    [
        (np.zeros((1, 48, 64, 3), np.uint8), ("48", "64")),
        (np.zeros((64, 64, 3), np.uint8), ("64 x 64 x 3",)),
        (np.zeros((1, 64, 64, 1), np.uint8), ("64 x 64 x 1",)),
        (np.zeros((1, 64, 64, 3), np.float32), ("float32", "uint8")),
    ],
)
def test_tiles_of_another_size_or_type_are_refused_before_the_model_runs(segmenter, tiles, told):
    with pytest.raises(ModelError) as caught:
        segmenter.segment(tiles)
    assert all(word in str(caught.value) for word in told)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_missing_output_is_named(tmp_path, output):
    path = echo_graph(tmp_path / "m.onnx", drop=output)
    with pytest.raises(ContractError, match=f"output '{output}'"):
        open_segmenter(path)


@pytest.mark.parametrize("field", ["tile_size_px", "class_names", "score_floor", "weights_digest", "mask_frame"])
def test_missing_metadata_is_named(tmp_path, field):
    metadata = INFO.to_metadata()
    del metadata[f"edgekit.{field}"]
    with pytest.raises(ContractError, match=f"edgekit.{field}"):
        open_segmenter(echo_graph(tmp_path / "m.onnx", metadata=metadata))


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("contract_version", "2", "version 2"),
        ("tile_size_px", "128", "input 'tiles'"),
        ("tile_size_px", '"big"', None),
        ("max_detections", "6", "output 'boxes'"),
        ("batch", "true", None),
        ("mask_frame", '"circle"', None),
        ("class_names", "[]", None),
        ("class_names", '"fruit"', None),
        ("class_names", "[1, 2]", None),
        ("class_names", '["fruit", "fruit"]', None),
        ("score_floor", "{", None),
        ("score_floor", '"0.05"', None),
        ("score_floor", "null", None),
        ("score_floor", "NaN", None),
        ("score_floor", "-1", None),
        ("default_threshold", "[0.4]", None),
        ("precision", '"int3"', None),
        ("exporter", "[" * 100_000, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_metadata_that_does_not_fit_the_graph_is_refused(tmp_path, field, value, told):
    metadata = {**INFO.to_metadata(), f"edgekit.{field}": value}
    with pytest.raises(ContractError, match=told or f"edgekit.{field}"):
        open_segmenter(echo_graph(tmp_path / "m.onnx", metadata=metadata))


def test_an_onnx_graph_of_another_tool_is_refused(tmp_path):
    with pytest.raises(ContractError, match=r"edgekit\.contract_version"):
        open_segmenter(echo_graph(tmp_path / "m.onnx", metadata={"names": "{0: 'fruit'}"}))


@pytest.mark.parametrize("content", [b"", b"no graph, but text\n" * 40, b"\x00" * 4096], ids=["empty", "text", "zeros"])
def test_a_file_that_is_no_onnx_is_refused(tmp_path, content):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"m\.onnx"):
        open_segmenter(path)


def test_a_truncated_graph_is_refused(tmp_path):
    path = echo_graph(tmp_path / "m.onnx")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ModelError):
        open_segmenter(path)


def test_a_missing_file_and_an_unknown_suffix_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no model file"):
        open_segmenter(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"\.onnx"):
        open_segmenter(tmp_path / "m.tflite")


def test_a_provider_that_is_not_there_is_an_error_unless_the_cpu_is_allowed(tmp_path):
    path = echo_graph(tmp_path / "m.onnx")
    with pytest.raises(ProviderError, match="rocm"):
        open_segmenter(path, settings=SegmenterSettings(provider="rocm"))
    allowed = open_segmenter(path, settings=SegmenterSettings(provider="rocm", allow_cpu_fallback=True))
    assert allowed.provider.requested == "ROCMExecutionProvider"
    assert allowed.provider.effective == "CPUExecutionProvider"
    assert "allowed" in allowed.provider.reason


def test_a_silent_fallback_of_onnx_runtime_itself_is_an_error():
    from edgekit.segment.providers import effective_choice

    settings = SegmenterSettings(provider="cuda")
    with pytest.raises(ProviderError, match="CPUExecutionProvider"):
        effective_choice(settings, ["CPUExecutionProvider"])
    assert effective_choice(replace(settings, allow_cpu_fallback=True), ["CPUExecutionProvider"]).effective.startswith(
        "CPU"
    )


def test_a_closed_segmenter_says_so(segmenter):
    segmenter.close()
    segmenter.close()
    with pytest.raises(ModelError, match="closed"):
        segmenter.segment(tiles_with_counts(1))


@pytest.mark.parametrize("threads", [0, -1, 5000])
def test_threads_that_cannot_be_are_refused(threads):
    with pytest.raises(SettingsError):
        SegmenterSettings(threads=threads)


def test_calls_from_several_threads_get_their_own_results(segmenter):
    every_thread_gets_its_own(segmenter, tiles_with_counts(0, 5, 2, 1, 4), threads=4, rounds=20)


def unknown_operator(path):
    model = onnx.load(echo_graph(path))
    model.graph.node[0].op_type = "Frobnicate"
    return model


def newer_operators(path):
    model = onnx.load(echo_graph(path))
    model.opset_import[0].version = 99
    return model


def loose_weights(path):
    model = onnx.load(echo_graph(path))
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=1000)
    (path.parent / "weights.bin").unlink()
    return None


@pytest.mark.parametrize("spoil", [unknown_operator, newer_operators, loose_weights])
def test_what_onnx_runtime_says_is_one_short_line_without_its_own_places(tmp_path, spoil):
    path = tmp_path / "m.onnx"
    model = spoil(path)
    if model is not None:
        path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError) as caught:
        open_segmenter(path)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 400
    assert "ONNXRuntimeError" not in told
    assert "/onnxruntime/" not in told
    assert {"unknown_operator": "Frobnicate", "newer_operators": "99", "loose_weights": "weights.bin"}[
        spoil.__name__
    ] in told


@pytest.mark.parametrize("content", [b"no graph, but text\n" * 40, b"\x00" * 4096])
def test_a_file_that_is_no_onnx_is_said_to_be_none(tmp_path, content):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        open_segmenter(path)
    assert f"cannot load {path}: it is no ONNX file" in str(caught.value)


class TestProviderOptions:
    def test_engines_that_onnx_runtime_builds_are_kept(self, tmp_path):
        options = provider_options(TENSORRT, SegmenterSettings(engine_cache=tmp_path / "kept"))
        assert options["trt_engine_cache_enable"] == "1"
        assert options["trt_engine_cache_path"] == str(tmp_path / "kept")
        assert (tmp_path / "kept").is_dir()

    def test_the_cache_lies_in_the_users_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert provider_options(RTX, SegmenterSettings()) == {
            "nv_runtime_cache_path": str(tmp_path / "edgekit" / "engines")
        }

    def test_a_folder_that_cannot_be_made_is_one_line(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(StorageError, match="file"):
            provider_options(TENSORRT, SegmenterSettings(engine_cache=tmp_path / "file" / "below"))

    def test_cuda_takes_what_tensorrt_lacks(self):
        settings = SegmenterSettings(provider="tensorrt")
        assert wanted_providers(settings, [TENSORRT, CUDA, CPU]) == [TENSORRT, CUDA, CPU]
        assert wanted_providers(settings, [TENSORRT, CPU]) == [TENSORRT, CPU]


def test_an_unknown_backend_is_refused():
    with pytest.raises(SettingsError, match="auto, onnxruntime, tensorrt"):
        SegmenterSettings(backend="openvino")
