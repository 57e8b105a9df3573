"""LocalStack, on loopback alone: whatever GATEWAY_LISTEN says, it binds every interface."""

import runpy
import socket

bind = socket.socket.bind


def on_loopback(self, address):
    if isinstance(address, tuple):
        address = ({"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(address[0], address[0]), *address[1:])
    return bind(self, address)


socket.socket.bind = on_loopback
runpy.run_module("localstack.runtime.main", run_name="__main__", alter_sys=True)
