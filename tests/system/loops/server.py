#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A forking server: server.py SOCKET. A line with a number asks for so many children,
# each of which makes ten namespaces; "quit" ends it. Each child prints the nanoseconds
# it took.
import ctypes
import os
import socket
import sys
import time

CLONE_NEWNET = 0x40000000
EACH = 10
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(4)


def serve():
    begin = time.perf_counter_ns()
    for _ in range(EACH):
        if libc.unshare(CLONE_NEWNET):
            os._exit(1)
        fd = os.open("/proc/sys/net/ipv4/ip_forward", os.O_WRONLY)
        os.write(fd, b"1")
        os.close(fd)
    os.write(1, b"%d\n" % (time.perf_counter_ns() - begin))
    os._exit(0)


while True:
    c, _ = s.accept()
    word = c.recv(64).decode().strip()
    if word == "quit":
        break
    for _ in range(int(word)):
        if os.fork() == 0:
            serve()
        if os.wait()[1]:
            sys.exit("a child failed")
    c.send(b"done\n")
    c.close()
