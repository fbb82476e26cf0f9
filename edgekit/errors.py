"""The errors that are the user's or the device's fault: one line, an exit code of its own, no trace.

    EdgekitError                     3
    ├── SettingsError               10   a recipe, site file, profile or option that cannot be used
    ├── MissingDependencyError      11   a package that an extra would install is not there
    ├── SourceError                 20   frames or pictures that cannot be read
    ├── ModelError                  30   a model file that cannot be used
    │   ├── ContractError           31   a graph that breaks the contract
    │   ├── ProviderError           32   the wanted execution provider or device is not there
    │   ├── CheckpointError         33   weights that do not fit, or a pickle that wants unknown globals
    │   └── EngineError             34   a TensorRT engine of another device, version or model
    ├── ExportError                 35   an export that failed or was refused
    ├── RunFolderError              40   an output folder that cannot be used
    │   ├── RunFinishedError        41   it holds a finished run
    │   ├── RunDamagedError         42   its database or segments do not pass the integrity check
    │   └── NothingRunsError        43   no run answers where one was asked
    ├── StorageError                45   the disk is full, read-only or failing
    ├── SyncError                   46   a target or broker that cannot be reached or refuses
    ├── BundleError                 47   a bundle that cannot be made, or is damaged
    ├── LabelsError                 50   labels that cannot be read or do not fit the pictures
    ├── CalibrationError            60   a threshold that must not be set
    │   └── ProfileError            61   a profile that cannot be read or belongs to another model
    └── MeasurementError            70   a benchmark that cannot be measured or compared

Codes 0 to 2 keep their usual meaning: 0 done, 1 a verdict of "no" (parity, doctor), 2 a wrong command line.
"""

from __future__ import annotations

from typing import ClassVar


class EdgekitError(Exception):
    """Says what is wrong, what was got and how to mend it, in one line.

    Args:
        what: what is wrong, with what was got.
        mend: what the reader can do about it; None where nothing can be done.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, what: str, *, mend: str | None = None) -> None:
        self.what = what
        self.mend = mend
        super().__init__(f"{what} - {mend}" if mend else what)


class SettingsError(EdgekitError):
    """A recipe, site file, profile or option that cannot be used."""

    exit_code = 10


class MissingDependencyError(EdgekitError):
    """A package that an extra would install is not there."""

    exit_code = 11


class SourceError(EdgekitError):
    """Frames or pictures that cannot be read."""

    exit_code = 20


class ModelError(EdgekitError):
    """A model file that cannot be used."""

    exit_code = 30


class ContractError(ModelError):
    """A graph that breaks the contract."""

    exit_code = 31


class ProviderError(ModelError):
    """The wanted execution provider or device is not there."""

    exit_code = 32


class CheckpointError(ModelError):
    """Weights that do not fit, or a pickle that wants unknown globals."""

    exit_code = 33


class EngineError(ModelError):
    """A TensorRT engine of another device, version or model."""

    exit_code = 34


class ExportError(EdgekitError):
    """An export that failed or was refused."""

    exit_code = 35


class RunFolderError(EdgekitError):
    """An output folder that cannot be used."""

    exit_code = 40


class RunFinishedError(RunFolderError):
    """An output folder that holds a finished run."""

    exit_code = 41


class RunDamagedError(RunFolderError):
    """A run folder whose database or segments do not pass the integrity check."""

    exit_code = 42


class NothingRunsError(RunFolderError):
    """No run answers where one was asked."""

    exit_code = 43


class StorageError(EdgekitError):
    """The disk is full, read-only or failing."""

    exit_code = 45


class SyncError(EdgekitError):
    """A target or broker that cannot be reached or refuses."""

    exit_code = 46


class BundleError(EdgekitError):
    """A bundle that cannot be made, or is damaged."""

    exit_code = 47


class LabelsError(EdgekitError):
    """Labels that cannot be read or do not fit the pictures."""

    exit_code = 50


class CalibrationError(EdgekitError):
    """A threshold that must not be set."""

    exit_code = 60


class ProfileError(CalibrationError):
    """A profile that cannot be read or belongs to another model."""

    exit_code = 61


class MeasurementError(EdgekitError):
    """A benchmark that cannot be measured or compared."""

    exit_code = 70
