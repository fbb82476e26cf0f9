"""Trying again: what a network does to a step, and how long it is waited for."""

from __future__ import annotations

import errno
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from edgekit.errors import EdgekitError, SyncError
from edgekit.sync.settings import RetrySettings

Answer = TypeVar("Answer")

_LASTING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG})
"""What waiting does not mend."""
_LASTING_KINDS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
_NETWORK_LIBRARIES = ("botocore", "aiobotocore", "aiohttp", "paramiko", "urllib3", "fsspec", "asyncio", "ssl")
_LASTING_NAMES = (
    "NoCredentialsError", "PartialCredentialsError", "ParamValidationError", "AuthenticationException",
    "BadAuthenticationType", "PasswordRequiredException", "BadHostKeyException", "UnknownHostError",
)  # fmt: skip


class DigestMismatchError(Exception):
    """What arrived at the target is not what was sent."""


def may_pass(error: Exception) -> bool:
    """True where the same step may succeed a little later: the network, not the settings, is to blame."""
    if type(error).__name__ in _LASTING_NAMES or isinstance(error, (EdgekitError, *_LASTING_KINDS)):
        return False
    if isinstance(error, OSError):
        return error.errno not in _LASTING
    network = type(error).__module__.partition(".")[0] in _NETWORK_LIBRARIES
    return network or isinstance(error, (EOFError, TimeoutError, DigestMismatchError))


def patiently(
    step: Callable[[], Answer], settings: RetrySettings, *, what: str, again: Callable[[], None] = lambda: None
) -> Answer:
    """Do a step, again where it fails in a way that may pass.

    The waits double and are shortened by up to a half at random, so that several devices do not come back at once.

    Args:
        step: what is done.
        settings: how often, and how long between.
        what: its name in the error's line.
        again: called before each further attempt: opens the connection anew.

    Raises:
        SyncError: it failed each time, or in a way that does not pass.
    """

    def once_more() -> Answer:
        again()
        return step()

    answer = _attempt(step)
    for wait_s in settings.waits_s():
        if not (isinstance(answer, _Failure) and may_pass(answer.error)):
            break
        time.sleep(wait_s * random.uniform(0.5, 1.0))
        answer = _attempt(once_more)
    if not isinstance(answer, _Failure):
        return answer
    raise SyncError(f"{what}: {_line(answer.error)}", mend=_mend(answer.error)) from answer.error


@dataclass(frozen=True)
class _Failure:
    """What a step raised."""

    error: Exception


def _attempt(step: Callable[[], Answer]) -> Answer | _Failure:
    """The step's answer, or what it failed with; errors that are neither the target's nor the network's go on."""
    try:
        return step()
    except EdgekitError:
        raise
    except Exception as error:
        if may_pass(error) or isinstance(error, OSError) or type(error).__name__ in _LASTING_NAMES:
            return _Failure(error)
        raise


def _line(error: Exception) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return " ".join(text.split())


def _mend(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "the target must be there: mount the drive, make the folder or the bucket, or mend the name"
    if isinstance(error, PermissionError) or type(error).__name__ in _LASTING_NAMES:
        return "check user, key and permissions of the target"
    if isinstance(error, OSError) and error.errno in _LASTING:
        return "make room at the target, or allow writing there"
    return "sync again when the network is back: it goes on where it ended"
