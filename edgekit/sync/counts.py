"""The count of each row of a run as messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.store import RunFolder, RunReader
from edgekit.store.summary import count_rows
from edgekit.sync.settings import MqttSettings

PAYLOAD_SCHEMA = 1
_NO_TOPIC = re.compile(r"[+#/\0]")


@dataclass(frozen=True)
class RowMessage:
    """What is said of one row, but for its revision."""

    run_id: str
    """Which run it is, whatever its folder is called."""
    row: int
    """The row's number in the run, from 0."""
    topic: str
    content: dict[str, Any]
    """Plain JSON types."""

    def message_id(self, revision: int) -> str:
        """The same for each sending of the same count; who receives drops what he has."""
        return f"{self.run_id}-{self.row:04d}-r{revision}"

    def payload(self, revision: int) -> bytes:
        """The message as it is sent."""
        head = {"schema": PAYLOAD_SCHEMA, "id": self.message_id(revision), "revision": revision}
        return json.dumps({**head, **self.content}, ensure_ascii=False, allow_nan=False).encode()


def row_messages(run: Path, settings: MqttSettings, device: str) -> Iterator[RowMessage]:
    """A message for each row of a run that is counted; rows that are not counted yet have none.

    Raises:
        RunFolderError: there is no run.
        RunDamagedError: its database is damaged.
    """
    name = run.resolve().name
    with closing(RunReader.open(RunFolder(run).database)) as reader:
        identity, plan, sources = reader.identity(), reader.run().plan, reader.sources()
        rows = count_rows(reader, plan.rule)
    model = {"model_id": plan.model_id, "threshold": plan.threshold, "threshold_from": plan.threshold_from}
    for source, row in zip(sources, rows, strict=True):
        if row["fruit"] is None:
            continue
        place = {"row": source.number, "row_name": source.row, "side": source.side}  # the last two of a live row alone
        content = {**row, **model, "device": device, "run": name, "run_id": identity, **place}
        fields = {"device": device, "run": name, "row": str(source.number)}
        topic = settings.topic.format(**{key: _NO_TOPIC.sub("_", value) for key, value in fields.items()})
        yield RowMessage(identity, source.number, topic, content)
