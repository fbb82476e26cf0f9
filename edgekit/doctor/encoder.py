"""The encoder that the site names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgekit.doctor.finding import Finding, fault, ok, warning
from edgekit.doctor.probes import Probes
from edgekit.doctor.question import Question


def check_encoder(probes: Probes, question: Question) -> Iterator[Finding]:
    """Whether its port is there, may be read, and keeps its name."""
    if not question.encoder:
        yield ok("encoder", "none is asked for")
        return
    if not probes.python("import serial, sys").good:
        yield fault("encoder", "pyserial cannot be imported", "pip install 'edgekit[encoder]'")
    port = question.encoder
    device = probes.root / port.lstrip("/")
    if not device.exists() and not device.is_symlink():
        yield fault("encoder", f"{port} is not there", "plug it in; ls /dev/serial/by-id shows what is seen")
    elif not probes.may_read(device):
        mend = "sudo usermod -aG dialout USER (edgekit for the service), then start again"
        yield fault("encoder", f"{port} may not be read by this user", mend)
    elif re.fullmatch(r"/dev/tty(USB|ACM)\d+", port):
        yield warning(
            "encoder", f"{port} may be another port after the next start", "use its name in /dev/serial/by-id"
        )
    else:
        yield ok("encoder", f"{port} is there")
