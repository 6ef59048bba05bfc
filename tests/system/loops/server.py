#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A forking server: server.py SOCKET. A line with a number asks for so many
# namespaces, each made by a child of its own; "quit" ends it.
import ctypes
import os
import socket
import sys

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(4)
while True:
    c, _ = s.accept()
    word = c.recv(64).decode().strip()
    if word == "quit":
        break
    for _ in range(int(word)):
        if os.fork() == 0:
            if libc.unshare(CLONE_NEWNET):
                os._exit(1)
            with open("/proc/sys/net/ipv4/ip_forward", "w") as f:
                f.write("1")
            os._exit(0)
        if os.wait()[1]:
            sys.exit("a child failed")
    c.send(b"done\n")
    c.close()
