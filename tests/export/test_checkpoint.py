"""Checkpoints: what is not a checkpoint is refused, and nothing that a pickle wants to call is called."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from edgekit.errors import CheckpointError

torch = pytest.importorskip("torch")
checkpoint = pytest.importorskip("edgekit.export.checkpoint")
load_checkpoint, ULTRALYTICS_CLASSES = checkpoint.load_checkpoint, checkpoint.ULTRALYTICS_CLASSES

pytestmark = pytest.mark.torch


class Evil:
    """A pickle that writes a file when it is opened."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return (Path.touch, (self.target,))


@pytest.fixture(params=["zip", "plain"])
def evil(request, tmp_path):
    path = tmp_path / "evil.pt"
    content = {"model": Evil(tmp_path / "was-here")}
    if request.param == "zip":
        torch.save(content, path)
    else:
        path.write_bytes(pickle.dumps(content, protocol=2))
    return path


def test_a_pickle_that_calls_something_is_refused_and_names_the_way_out(evil):
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(evil, allowed=ULTRALYTICS_CLASSES)
    assert not (evil.parent / "was-here").exists()
    assert caught.value.exit_code == 33


def test_the_offending_global_is_named(tmp_path):
    path = tmp_path / "evil.pt"
    torch.save({"model": Evil(tmp_path / "was-here")}, path)
    with pytest.raises(CheckpointError, match=r"wants getattr, .*--trust-checkpoint"):
        load_checkpoint(path, allowed=ULTRALYTICS_CLASSES)


def test_weights_of_the_other_family_name_its_recipe(tmp_path):
    from types import SimpleNamespace

    path = tmp_path / "w.pt"
    torch.save({"model": SimpleNamespace()}, path)
    with pytest.raises(CheckpointError, match="take the recipe yolo11"):
        load_checkpoint(path, allowed={})


def test_a_trusted_checkpoint_may_do_what_it_wants(tmp_path):
    path = tmp_path / "evil.pt"
    torch.save({"model": Evil(tmp_path / "was-here")}, path)
    load_checkpoint(path, allowed=ULTRALYTICS_CLASSES, trusted=True)
    assert (tmp_path / "was-here").exists()


@pytest.mark.parametrize(
    "content", [b"", b"no weights, but text\n" * 30, b"\x00" * 1000], ids=["empty", "text", "zeros"]
)
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    path = tmp_path / "w.pt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"w\.pt is (empty|damaged|no PyTorch checkpoint)"):
        load_checkpoint(path, allowed=ULTRALYTICS_CLASSES)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="no weights file"):
        load_checkpoint(tmp_path / "w.pt", allowed=ULTRALYTICS_CLASSES)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_checkpoint_that_was_cut_is_refused(tmp_path, share):
    path = tmp_path / "w.pt"
    torch.save({"weight": torch.arange(10_000.0)}, path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(CheckpointError):
        load_checkpoint(path, allowed=ULTRALYTICS_CLASSES)


def test_a_changed_byte_is_noticed_although_pytorch_reads_over_it(tmp_path):
    path = tmp_path / "w.pt"
    torch.save({"weight": torch.arange(10_000.0)}, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    torch.load(path, weights_only=True)
    with pytest.raises(CheckpointError, match=r"damaged: the checksum of .*data"):
        load_checkpoint(path, allowed=ULTRALYTICS_CLASSES)


def test_real_weights_load_with_the_allow_list(tomato_weights):
    held = load_checkpoint(tomato_weights, allowed=ULTRALYTICS_CLASSES)
    assert type(held["model"]).__name__ == "SegmentationModel"
    assert held["model"].names == {0: "fruit"}


def test_every_class_of_the_list_is_a_layer_or_a_namespace():
    """Nothing in it runs a program or opens a file when it is made."""
    from importlib import import_module
    from types import SimpleNamespace

    for module, names in ULTRALYTICS_CLASSES.items():
        for name in names.split():
            assert issubclass(getattr(import_module(module), name), (torch.nn.Module, SimpleNamespace))
