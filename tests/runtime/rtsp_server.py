"""An RTSP server for tests, run by the system's Python (python3-gi, gir1.2-gst-rtsp-server-1.0): FILM PORT."""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 - after the versions are said

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_service(sys.argv[2])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(f"( filesrc location={sys.argv[1]} ! matroskademux ! h264parse ! rtph264pay name=pay0 pt=96 )")
server.get_mount_points().add_factory("/row", factory)
server.attach(None)
GLib.MainLoop().run()
