"""Results off the device: runs to a target by digest, counts of rows to a broker; both store and forward."""

from edgekit.sync.send import SendSettings, Sent, send_run
from edgekit.sync.settings import MqttSettings, RetrySettings, SyncSettings
from edgekit.sync.state import targets_with_all
from edgekit.sync.target import Target

__all__ = [
    "MqttSettings",
    "RetrySettings",
    "SendSettings",
    "Sent",
    "SyncSettings",
    "Target",
    "send_run",
    "targets_with_all",
]
