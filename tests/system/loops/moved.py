#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A process of many threads that is found late: moved.py THREADS GROUP moves itself
# into a control group, moved.py THREADS =NAME gives itself a name. Then each of its
# threads makes two namespaces.
import ctypes
import sys
import threading

CLONE_NEWNET = 0x40000000
PR_SET_NAME = 15
libc = ctypes.CDLL(None, use_errno=True)
go = threading.Event()
failed = []


def work():
    go.wait()
    for _ in range(2):
        if libc.unshare(CLONE_NEWNET):
            failed.append(ctypes.get_errno())


threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
for t in threads:
    t.start()
if sys.argv[2].startswith("="):
    libc.prctl(PR_SET_NAME, sys.argv[2][1:].encode())
else:
    with open(sys.argv[2] + "/cgroup.procs", "w") as f:
        f.write("0")
go.set()
for t in threads:
    t.join()
sys.exit(f"unshare failed: {failed}" if failed else 0)
