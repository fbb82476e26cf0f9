"""Match the classes of labels with those of a model, by name: numbers differ between files and have gaps."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from edgekit.errors import LabelsError
from edgekit.labels.model import LabelSet

ANY = "*"
"""In a class table, as a label class: every one that is not named itself; as a model class: the only one it has."""


def match_classes(
    labels: LabelSet, model_classes: Sequence[str], table: Mapping[str, str] | None = None
) -> dict[str, int]:
    """Number of the model's class for each class that the labels use.

    Args:
        labels: what was labelled; declared classes that no object has play no part.
        model_classes: the model's names, counted from 0 without background.
        table: label class -> model class, for names that differ; see `ANY`.

    Raises:
        LabelsError: a class that the model does not have (it is never taken for class 0), or a table that names a class
            which neither has.
    """
    table = table or {}
    require_class_map(labels, model_classes, table)
    numbers = {name: index for index, name in enumerate(model_classes)}
    matched: dict[str, int] = {}
    for name in labels.used_class_names:
        target = table.get(name, name if name in numbers else table.get(ANY, name))
        if target == ANY and len(model_classes) == 1:
            target = model_classes[0]
        if target not in numbers:
            near = difflib.get_close_matches(target, numbers, 1, 0.6)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise LabelsError(
                f"the labels' class {target!r} is not one of the model's: {', '.join(model_classes)}",
                mend=f"{hint}map it with --class-map '{name}=<model class>' ('*=*' maps all to a model's only class)",
            )
        matched[name] = numbers[target]
    return matched


def require_class_map(labels: LabelSet, model_classes: Sequence[str], table: Mapping[str, str]) -> None:
    """Pass where every class that a table names is there: a typing error must not pass as a class without objects.

    Raises:
        LabelsError: a label class that the labels do not have, or a model class that the model does not have.
    """
    sides = (
        ("the labels have", table.keys(), set(labels.class_names)),
        ("the model has", table.values(), set(model_classes)),
    )
    for who, named, known in sides:
        for name in named:
            if name != ANY and name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.6)
                hint = f"did you mean {near[0]!r}?" if near else "mend or leave out that entry"
                raise LabelsError(f"--class-map names {name!r}, but {who} {_listed(known)}", mend=hint)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "no class"


def parse_class_map(text: str) -> dict[str, str]:
    """A class table from `label=model,label=model`.

    Raises:
        LabelsError: an entry without `=`, or a label class that is mapped twice.
    """
    table: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        label, sign, model = entry.partition("=")
        if not sign or not label.strip() or not model.strip():
            raise LabelsError(f"class map entry {entry!r}", mend="write label=model, several separated by commas")
        if label.strip() in table:
            raise LabelsError(f"class map: {label.strip()} is mapped twice", mend="leave one of the entries")
        table[label.strip()] = model.strip()
    return table
