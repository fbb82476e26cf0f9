"""The counts of runs, through the outbox, to the broker."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from edgekit.contracts import Progress
from edgekit.sync.counts import row_messages
from edgekit.sync.mqtt import Delivery, broker_of, deliver, device_name
from edgekit.sync.outbox import OUTBOX_NAME, Outbox
from edgekit.sync.settings import MqttSettings


def keep_counts(run: Path, settings: MqttSettings) -> int:
    """Put the count of each counted row into the outbox beside the run; tell how many are new or changed.

    Rows of a run that still goes on are there as soon as they are counted.

    Raises:
        RunFolderError: the folder holds no run.
        RunDamagedError: the run's database or the outbox is damaged.
        StorageError: the outbox cannot be written.
    """
    messages = list(row_messages(run, settings, device_name(settings)))
    with closing(_outbox(run.resolve().parent, settings)) as outbox:
        return sum(outbox.put(message) for message in messages)


def deliver_kept(folder: Path, settings: MqttSettings, *, report: Progress) -> Delivery:
    """Send what waits in the outbox of a folder of runs.

    Raises:
        SettingsError: the URL, a password file or a certificate cannot be used.
        MissingDependencyError: paho-mqtt is not installed.
        StorageError: the outbox cannot be written.
        SyncError: the broker refuses this device.
    """
    with closing(_outbox(folder, settings)) as outbox:
        return deliver(outbox, settings, report=report)


def _outbox(folder: Path, settings: MqttSettings) -> Outbox:
    return Outbox(folder / OUTBOX_NAME, broker_of(settings).name)
