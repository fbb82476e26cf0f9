"""Models and profiles by digest: whole or absent, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from segment.fakes import fake_engine
from segment.graphs import INFO, echo_graph
from typer.testing import CliRunner

from edgekit.errors import ContractError, ModelError, ProfileError, SettingsError
from edgekit.runtime.installed import place
from edgekit.runtime.installed.named import named_model, named_profile
from edgekit.runtime.installed.store import Store
from edgekit.segment.digest import file_digest
from tests.damage import edited

EXAMPLE = Path(__file__).resolve().parents[3] / "calibration" / "example" / "example-pepper.toml"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEKIT_STORE", str(tmp_path / "store"))
    return Store(tmp_path / "store")


def graph(folder: Path, number: int = 0) -> Path:
    """A graph of its own for every number."""
    folder.mkdir(parents=True, exist_ok=True)
    return echo_graph(folder / f"m{number}.onnx", replace(INFO, weights_digest=f"{number:064d}"))


def test_an_item_lies_under_its_digest(store, tmp_path):
    path = graph(tmp_path)
    item = store.install(path)
    assert item.digest == file_digest(path)
    assert store.file(item).read_bytes() == path.read_bytes()
    assert store.file(item).parent.name == item.digest
    assert (item.described, item.model_id) == ("yolo11 fp32: fruit", replace(INFO, weights_digest="0" * 64).model_id)
    assert store.items("model") == [item]
    assert store.items("profile") == []


def test_installing_twice_changes_nothing(store, tmp_path):
    first = store.install(graph(tmp_path))
    assert store.install(graph(tmp_path / "elsewhere")) == first
    assert store.items("model") == [first]


def test_a_graphs_engine_and_its_sidecar_come_along(store, tmp_path):
    item = store.install(fake_engine(tmp_path).with_suffix(".onnx"))
    assert set(item.files) == {"m.onnx", "m.engine", "m.engine.json"}
    alone = store.install(tmp_path / "m.engine")
    assert set(alone.files) == {"m.engine", "m.engine.json"}
    assert "for Orin" in alone.described


def test_profiles_are_kept_apart_from_models(store):
    item = store.install(EXAMPLE)
    store.activate(item)
    assert item.kind == "profile"
    assert "example-pepper" in item.described
    assert named_profile("active") == str(store.file(item))
    with pytest.raises(SettingsError, match="no model is active"):
        named_model("active")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("m.onnx", b"no graph", ModelError),
        ("m.engine", b"text" * 100, ModelError),
        ("p.toml", b"[end]\ncomplete = true", ProfileError),
        ("m.pt", b"weights", SettingsError),
        ("m.onnx", None, SettingsError),
    ],
)
def test_what_is_of_no_use_is_not_installed(store, tmp_path, name, content, kind):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(kind):
        store.install(tmp_path / name)
    assert not store.root.exists()


def test_a_graph_that_breaks_the_contract_is_not_installed(store, tmp_path):
    with pytest.raises(ContractError):
        store.install(echo_graph(tmp_path / "m.onnx", metadata={"names": "fruit"}))


def test_going_back_goes_through_what_was_active_before(store, tmp_path):
    items = [store.install(graph(tmp_path, number)) for number in range(3)]
    for item in items:
        store.activate(item)
    assert named_model("active") == store.file(items[2])
    assert store.roll_back("model") == items[1]
    assert store.roll_back("model") == items[0]
    assert store.active("model") == items[0]
    with pytest.raises(SettingsError, match="before"):
        store.roll_back("model")
    store.activate(items[2])
    assert store.roll_back("model") == items[0]


def test_activating_the_active_one_forgets_nothing(store, tmp_path):
    items = [store.install(graph(tmp_path, number)) for number in range(2)]
    store.activate(items[0])
    store.activate(items[1])
    store.activate(items[1])
    assert store.roll_back("model") == items[0]


@pytest.mark.parametrize("spoil", ["change", "cut", "remove"])
def test_a_damaged_file_is_never_activated_nor_used(store, tmp_path, spoil):
    good, bad = store.install(graph(tmp_path, 0)), store.install(graph(tmp_path, 1))
    store.activate(bad)
    store.activate(good)
    damage(store.file(bad), spoil)
    told = "cannot be read" if spoil == "remove" else "is damaged"
    for attempt in (lambda: store.activate(bad), lambda: store.roll_back("model")):
        with pytest.raises(ModelError, match=told):
            attempt()
    assert store.active("model") == good
    damage(store.file(good), spoil)
    with pytest.raises(ModelError, match=told):
        named_model("active")
    assert store.install(graph(tmp_path, 0)).digest == good.digest  # and mended by installing it again
    assert named_model("active").read_bytes() == graph(tmp_path, 0).read_bytes()


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    if how == "remove":
        path.unlink()
    else:
        path.write_bytes(data if how == "change" else data[:-1])


def test_the_active_one_stays_and_others_may_go(store, tmp_path):
    items = [store.install(graph(tmp_path, number)) for number in range(3)]
    for item in items:
        store.activate(item)
    with pytest.raises(SettingsError, match="is active"):
        store.remove(items[2])
    store.remove(items[1])
    assert {item.digest for item in store.items("model")} == {items[0].digest, items[2].digest}
    assert store.roll_back("model") == items[0]


def test_names_and_digits_find_an_item(store, tmp_path):
    first, second = store.install(graph(tmp_path, 0)), store.install(graph(tmp_path, 1))
    assert store.find("model", first.digest[:8]) == store.find("model", "m0") == store.find("model", "m0.onnx") == first
    assert store.find("model", second.digest.upper()) == second
    with pytest.raises(SettingsError, match="is installed"):
        store.find("model", "m7")
    with pytest.raises(SettingsError, match="names 2 models"):
        store.find("model", "")


def test_descriptions_of_other_types_are_as_damaged_ones(store, tmp_path):
    """What is written by hand there is not taken, or read; it never ends in a trace."""
    item = store.install(graph(tmp_path))
    store.activate(item)
    for name in ("item.json", "active-model.json"):
        (path,) = store.root.rglob(name)
        whole = path.read_bytes()
        for _, wrong in edited(json.loads(whole)):
            path.write_text(json.dumps(wrong))
            for found in store.items("model"):
                assert found.kind in ("model", "profile")
                assert all(isinstance(text, str) for text in (found.described, found.file, *found.files.values()))
            active = store.pointer("model").active
            assert active is None or isinstance(active, str)
        path.write_bytes(whole)


def test_a_damaged_pointer_is_no_active_model(store, tmp_path):
    store.activate(store.install(graph(tmp_path)))
    (store.root / "active-model.json").write_text('{"active"')
    with pytest.raises(SettingsError, match="no model is active"):
        store.active("model")


class TestPlace:
    def test_the_devices_store_serves_where_it_may_be_read(self, tmp_path, monkeypatch):
        monkeypatch.delenv("EDGEKIT_STORE", raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        monkeypatch.setattr(place, "DEVICE_STORE", tmp_path / "device")
        assert place.default_store() == tmp_path / "data/edgekit/store"
        (tmp_path / "device").mkdir()
        assert place.default_store() == tmp_path / "device"
        monkeypatch.setattr("os.access", lambda *_: False)
        assert place.default_store() == tmp_path / "data/edgekit/store"

    def test_a_folder_that_may_not_be_looked_into_is_not_this_users(self, tmp_path, monkeypatch):
        def refuse(path):
            raise PermissionError(13, "Permission denied")

        monkeypatch.delenv("EDGEKIT_STORE", raising=False)
        monkeypatch.setattr(Path, "is_dir", refuse)
        assert place.default_store() != place.DEVICE_STORE


class TestPowerCut:
    """A process that is killed before any one of its steps, with everything lost that was not flushed by then."""

    def test_at_any_step_every_item_is_whole_or_absent_and_the_pointer_old_or_new(self, tmp_path):
        old, new = graph(tmp_path / "files", 0), graph(tmp_path / "files", 1)
        steps, finished = 0, False
        while not finished:
            store = Store(tmp_path / f"store{steps}")
            store.activate(store.install(old))
            finished = self.cut_after(steps, lambda store=store: self.replace(store, new))
            self.check(store, file_digest(old), file_digest(new))
            self.replace(store, new)
            assert store.active("model").digest == file_digest(new)
            assert sorted(path.name for path in (store.root / "models").iterdir()) == [file_digest(new)]
            shutil.rmtree(store.root)
            steps += 1
        assert steps > 20

    @staticmethod
    def replace(store, new):
        item = store.install(new)
        store.activate(item)
        for other in store.items("model"):
            if other.digest != item.digest:
                store.remove(other)

    @staticmethod
    def check(store, old, new):
        items = store.items("model")
        for item in items:
            store.check(item)
        active = store.active("model").digest
        assert active in (old, new)
        assert active in [item.digest for item in items]

    @staticmethod
    def cut_after(steps, work):
        """True where `work` was done before so many steps were taken."""
        child = os.fork()
        if not child:
            try:
                signal.alarm(30)
                PowerCut(steps).watch()
                work()
            except BaseException:
                os._exit(2)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        return code == 0


class PowerCut:
    """Ends this process before its n-th change of the disk; files that were not flushed lose their second half."""

    STEPS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link")

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.unsure: set[str] = set()

    def watch(self) -> None:
        really = os.fsync

        def fsync(handle: int) -> None:
            self.step()
            really(handle)
            self.unsure.discard(str(Path(f"/proc/self/fd/{handle}").readlink()))

        os.fsync = fsync
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in self.STEPS:
            self.step()
            if event == "os.rename":  # what was not flushed is as unsure under its new name
                source, target = (os.path.realpath(str(path)) for path in arguments[:2])
                moved = {name for name in self.unsure if name.startswith(source)}
                self.unsure = self.unsure - moved | {target + name.removeprefix(source) for name in moved}
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            self.step()
            self.unsure.add(os.path.realpath(str(arguments[0])))

    def step(self) -> None:
        self.left -= 1
        if self.left >= 0:
            return
        for name in list(self.unsure):
            path = Path(name)
            if path.is_file():
                os.truncate(path, path.stat().st_size // 2)
        os._exit(9)


class TestCommand:
    def invoke(self, *words):
        from edgekit.cli.main import app

        return CliRunner().invoke(app, ["models", *map(str, words)], catch_exceptions=False)

    def test_install_list_activate_rollback_remove(self, store, tmp_path):
        assert "installed" in self.invoke("install", graph(tmp_path, 0), "--activate").stdout
        self.invoke("install", graph(tmp_path, 1))
        self.invoke("activate", "m1")
        told = json.loads(self.invoke("list", "--json").stdout)
        assert {item["file"]: item["mark"] for item in told["items"]} == {"m0.onnx": "1", "m1.onnx": "*"}
        assert "active again" in self.invoke("rollback").stdout
        assert self.invoke("path").stdout.strip().endswith("m0.onnx")
        assert "removed" in self.invoke("remove", "m1").stdout
        assert len(self.invoke("list").stdout.splitlines()) == 1

    def test_list_finds_damage(self, store, tmp_path):
        item = store.install(graph(tmp_path))
        damage(store.file(item), "cut")
        done = self.invoke("list", "--verify")
        assert done.exit_code == 1
        assert "is damaged" in done.stderr


def test_a_run_and_a_site_file_may_name_the_active_model(store, tmp_path):
    from edgekit.cli.main import app
    from edgekit.runtime.live.site import read_site

    big = echo_graph(tmp_path / "m0.onnx", replace(INFO, tile_size_px=128))
    store.activate(store.install(big))
    picture = np.zeros((128, 128, 3), np.uint8)
    picture[0, 0, 2] = 3
    assert cv2.imwrite(str(tmp_path / "row.png"), picture)
    out = tmp_path / "out"
    command = ["run", str(tmp_path / "row.png"), "--panorama", "--out", str(out), "--model", "active", "--json"]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    summary = json.loads(done.stdout)
    assert (summary["model"]["file"], summary["detections"]) == ("m0.onnx", 3)
    text = 'out = "runs"\nmodel = "active"\n[[cameras]]\nname = "left"\nside = "left"\nfile = "usb.toml"\n'
    (tmp_path / "trolley.toml").write_text(text)
    assert named_model(read_site(tmp_path / "trolley.toml").model) == store.file(store.active("model"))


def test_a_store_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(SettingsError, match="is a file"):
        Store(tmp_path / "store")
