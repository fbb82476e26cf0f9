"""From labels and predictions to pairs, with a word on everything that was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from edgekit.calibration.pairing import best_label, pair_tile
from edgekit.calibration.pairs import Pairs
from edgekit.calibration.session.tiles import SessionTile
from edgekit.contracts import Instances
from edgekit.errors import LabelsError
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet, match_classes, require_class_map
from edgekit.wording import counted

HIT_IOU = 0.5
"""A prediction finds a fruit from this IoU on, for the threshold of best F1."""


@dataclass(frozen=True, eq=False)
class GatheredPairs:
    """The pairs of a session."""

    pairs: Pairs
    labels: int
    """Labels that were used."""
    labelled_tiles: int
    """Tiles that both the labels and the predictions know, with or without fruit."""
    skipped: tuple[str, ...]
    """One line for every label or picture that was not used, and why."""
    hits: npt.NDArray[np.bool_] | None
    """bool, n: the first prediction of a label with IoU >= 0.5; None where only marked predictions were checked."""


def gather_pairs(
    labels: LabelSet,
    tiles: Mapping[str, SessionTile],
    class_names: Sequence[str],
    *,
    class_map: Mapping[str, str] | None = None,
) -> GatheredPairs:
    """Pair the predictions of every tile that is labelled.

    Pictures and tiles are matched by file name, without folder and ending, and by size.

    Args:
        labels: what a person drew.
        tiles: what the model said, by the name of the picture.
        class_names: of the model; a model of one class is paired with labels of any class.
        class_map: label class -> model class where names differ.

    Raises:
        LabelsError: no picture matches, a class that the model does not have, or a class map that names none.
    """
    require_class_map(labels, class_names, class_map or {})
    numbers = match_classes(labels, class_names, class_map) if len(class_names) > 1 else None
    by_stem = {PurePosixPath(name).stem: tile for name, tile in tiles.items()}
    matched: dict[str, LabelledPicture] = {}
    skipped = [str(odd) for odd in labels.refused]
    for picture in labels.pictures:
        tile = by_stem.get(PurePosixPath(picture.name).stem)
        reason = _mismatch(picture, tile, matched)
        if tile is None or reason:
            skipped.append(f"picture {picture.name} with {counted(len(picture.instances), 'label')}: {reason}")
            continue
        matched[tile.name] = picture
        skipped += [
            f"label {item.id} of {picture.name}: only a box" for item in picture.instances if not item.has_outline
        ]
    if not matched:
        raise LabelsError(
            _no_match(labels, tiles, skipped), mend="label the pictures that edgekit calibrate sample wrote"
        )
    return _paired(matched, tiles, numbers, tuple(skipped))


def _paired(
    matched: Mapping[str, LabelledPicture],
    tiles: Mapping[str, SessionTile],
    numbers: Mapping[str, int] | None,
    skipped: tuple[str, ...],
) -> GatheredPairs:
    parts, hits, used = [], [], 0
    for name in sorted(matched):
        tile = tiles[name]
        # A box says that there is a fruit, not what its mask is: predictions in it are left out.
        drawn = [item if item.has_outline else replace(item, ignore=True) for item in matched[name].instances]
        paired = pair_tile(name, tile.checked, drawn, class_numbers=numbers, place=tile.place)
        parts.append(paired.pairs)
        hits.append(_hits(tile.checked, drawn, numbers)[paired.rows])
        used += sum(not (item.is_crowd or item.ignore) for item in drawn)
    marked = any(tiles[name].marks is not None for name in matched)
    return GatheredPairs(
        Pairs.concatenate(parts), used, len(matched), skipped, None if marked else np.concatenate(hits)
    )


def _mismatch(picture: LabelledPicture, tile: SessionTile | None, matched: Mapping[str, object]) -> str | None:
    if tile is None:
        return "no tile of that name"
    if tile.name in matched:
        return "a picture of that name came before"
    size = tile.spec.size_px
    if picture.size_wh != (size, size):
        return f"{picture.size_wh[0]} x {picture.size_wh[1]} pixels, its tile has {size} x {size}"
    return None


def _hits(
    predictions: Instances, labels: Sequence[LabelledInstance], numbers: Mapping[str, int] | None
) -> npt.NDArray[np.bool_]:
    """Predictions in falling confidence, each taking the best label of its class that is still free."""
    found = np.zeros(len(predictions), np.bool_)
    free = [item for item in labels if not (item.is_crowd or item.ignore)]
    for row in np.argsort(-predictions.scores, kind="stable"):
        own = [item for item in free if numbers is None or numbers[item.class_name] == predictions.labels[row]]
        best, owner = best_label(predictions.masks[row], own)
        if owner is not None and best >= HIT_IOU:
            free.remove(owner)
            found[row] = True
    return found


def _no_match(labels: LabelSet, tiles: Mapping[str, SessionTile], skipped: Sequence[str]) -> str:
    if not labels.pictures:
        return "the labels name no picture"
    return f"no labelled picture is a tile of this session, whose first is {next(iter(tiles), 'none')}: {skipped[-1]}"
