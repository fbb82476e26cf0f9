"""Files that a person edits: what is wrong is said, with the key and the mend."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from edgekit.errors import SettingsError
from edgekit.settings_file import read_settings, settings_from


@dataclass(frozen=True)
class Camera:
    name: str
    rate_hz: float = 15.0


@dataclass(frozen=True)
class Site:
    crop: Literal["tomato", "paprika"]
    rows: int = 1
    scale_mm: float | None = None
    keep: bool = True
    folder: Path = Path("runs")
    cameras: tuple[Camera, ...] = ()
    main: Camera = field(default_factory=lambda: Camera("left"))


def test_a_file_becomes_settings(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text('crop = "tomato"\nscale_mm = 2\nfolder = "x"\n[main]\nname = "a"\n[[cameras]]\nname = "b"\n')
    expected = Site("tomato", scale_mm=2.0, folder=Path("x"), cameras=(Camera("b"),), main=Camera("a"))
    assert read_settings(file, Site) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'crop' is missing"),
        ('crop = "tomato"\nrosw = 3', "unknown key 'rosw' - the nearest known key is 'rows'"),
        ('crop = "cucumber"', "use one of: tomato, paprika"),
        ('crop = "tomato"\nrows = 1.5', "rows = 1.5 - write a whole number"),
        ('crop = "tomato"\nrows = true', "write a whole number"),
        ('crop = "tomato"\nkeep = 1', "write true or false"),
        ('crop = "tomato"\nscale_mm = "2"', "write a number"),
        ('crop = "tomato"\nmain = 2', "write a table"),
        ('crop = "tomato"\n[main]\nnmae = "x"', "unknown key 'main.nmae' - the nearest known key is 'main.name'"),
        ('crop = "tomato"\n[main]', "'main.name' is missing"),
        ('crop = "tomato"\ncameras = 2', "write a list"),
        ("crop = ", "is not TOML"),
        ("\xff", "unknown key"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, said):
    file = tmp_path / "site.toml"
    file.write_text(text if text != "\xff" else '"\xff" = 1', encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(file, Site)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


@dataclass(frozen=True)
class Band:
    band: tuple[float, float] = (0.1, 0.5)


@pytest.mark.parametrize("values", [[], [0.1], [0.1, 0.2, 0.3]])
def test_a_list_of_another_length_is_refused(values):
    assert settings_from({"band": [0.2, 0.4]}, Band).band == (0.2, 0.4)
    with pytest.raises(SettingsError, match="write a list of 2 values"):
        settings_from({"band": values}, Band)


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(SettingsError, match="cannot read"):
        read_settings(tmp_path / "none.toml", Site)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="is not TOML"):
        read_settings(tmp_path / "bytes.toml", Site)


def test_settings_from_plain_values():
    assert settings_from({"crop": "paprika"}, Site).crop == "paprika"


@pytest.mark.parametrize("line", [
    "scale_mm = nan", "scale_mm = inf", "scale_mm = 1" + "0" * 400, "rows = 9223372036854775808",
    'folder = "a\\u0000b"', "rows = 1" + "0" * 5000,
    "rows = " + "[" * 10_000, "main = [" + "1, " * 5000 + "]", "rows = 1" + "#" * (1 << 20),
])  # fmt: skip
def test_values_that_would_break_something_later_are_refused_in_one_short_line(tmp_path, line):
    path = tmp_path / "site.toml"
    path.write_text(f'crop = "tomato"\n{line}\n')
    with pytest.raises(SettingsError) as found:
        read_settings(path, Site)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 400


def test_a_path_that_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "a\0b", Path("/dev/zero")):
        with pytest.raises(SettingsError):
            read_settings(path, Site)


@dataclass(frozen=True)
class Row:
    counts: Mapping[str, int]
    length_m: float | None = None


@dataclass(frozen=True)
class Report:
    rows: tuple[Row, ...]


def test_json_that_edgekit_wrote_may_hold_null_mappings_and_more_than_is_read():
    written = {"rows": [{"counts": {"ripe": 3}, "length_m": None, "told": "later"}], "created": "2026-11-30"}
    assert settings_from(written, Report, others=True) == Report((Row({"ripe": 3}),))
    with pytest.raises(SettingsError, match="unknown key 'created'"):
        settings_from(written, Report)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"counts": {"ripe": "3"}}, r"rows\[1\]\.counts\.ripe = '3' - write a whole number"),
        ({"counts": {"ripe": None}}, r"rows\[1\]\.counts\.ripe = null"),
        ({"counts": 3}, r"rows\[1\]\.counts = 3 - write a table"),
        ({}, r"'rows\[1\]\.counts' is missing"),
    ],
)
def test_the_place_of_a_wrong_value_is_told(row, said):
    with pytest.raises(SettingsError, match=said):
        settings_from({"rows": [{"counts": {}}, row]}, Report, others=True)
