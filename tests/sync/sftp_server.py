"""An SFTP server over a folder, in threads of this process."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import paramiko


class _Session(paramiko.ServerInterface):
    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_auth_password(self, username, password):
        return paramiko.AUTH_SUCCESSFUL if password == "tomato" else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username):
        return "password"


class _Handle(paramiko.SFTPHandle):
    def __init__(self, handle, flags):
        super().__init__(flags)
        self.readfile = self.writefile = handle

    def stat(self):
        return paramiko.SFTPAttributes.from_stat(os.fstat(self.readfile.fileno()))


class _Files(paramiko.SFTPServerInterface):
    root: Path

    def _real(self, path):
        return self.root / self.canonicalize(path).lstrip("/")

    def _answer(self, step):
        try:
            return step()
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)

    def list_folder(self, path):
        def step():
            items = []
            for item in self._real(path).iterdir():
                attributes = paramiko.SFTPAttributes.from_stat(item.stat())
                attributes.filename = item.name
                items.append(attributes)
            return items

        return self._answer(step)

    def stat(self, path):
        return self._answer(lambda: paramiko.SFTPAttributes.from_stat(self._real(path).stat()))

    lstat = stat

    def open(self, path, flags, attr):
        def step():
            handle = os.open(self._real(path), flags | getattr(os, "O_BINARY", 0), 0o644)
            mode = "ab" if flags & os.O_APPEND else "r+b" if flags & (os.O_WRONLY | os.O_RDWR) else "rb"
            return _Handle(os.fdopen(handle, mode), flags)

        return self._answer(step)

    def remove(self, path):
        return self._answer(lambda: self._real(path).unlink() or paramiko.SFTP_OK)

    def posix_rename(self, oldpath, newpath):
        return self._answer(lambda: self._real(oldpath).replace(self._real(newpath)) and paramiko.SFTP_OK)

    def mkdir(self, path, attr):
        return self._answer(lambda: self._real(path).mkdir() or paramiko.SFTP_OK)


class SftpServer:
    """Serves `root` to user `trolley` with password `tomato`."""

    def __init__(self, root):
        root.mkdir()
        self.root = root
        self.key = paramiko.RSAKey.generate(2048)
        self._files = type("Files", (_Files,), {"root": root})
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._transports = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"sftp://trolley@127.0.0.1:{self.port}"

    def known_hosts(self, path):
        """A file that knows this server."""
        path.write_text(f"[127.0.0.1]:{self.port} {self.key.get_name()} {self.key.get_base64()}\n")
        return path

    def drop(self):
        """Cut every connection, as a network does."""
        for transport in self._transports:
            transport.close()
        self._transports.clear()

    def close(self):
        self._socket.close()
        self.drop()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, self._files)
            self._transports.append(transport)
            transport.start_server(server=_Session(), event=threading.Event())
