"""Commands to a running `edgekit run` over a local socket, and the names of rows."""

from edgekit.runtime.control.client import ask
from edgekit.runtime.control.commands import Command, Order, Reply, RowStart, RowStop, StatusQuery, Stop
from edgekit.runtime.control.place import run_socket, usual_socket, usual_sockets
from edgekit.runtime.control.row_name import row_name
from edgekit.runtime.control.server import ControlServer

__all__ = [
    "Command", "ControlServer", "Order", "Reply", "RowStart", "RowStop", "StatusQuery", "Stop", "ask",
    "row_name", "run_socket", "usual_socket", "usual_sockets",
]  # fmt: skip
