#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a record of invented, consistent events (doc/record.md), so that exports can
be tested on any machine and with stacks of any number.

make_record.py FILE [--levels 0,4000] [--routers 6] [--stacks N --depth D]
               [--no-stacks] [--untraced] [--cut] [--functions] [--hostile]
With --stacks each level has one router whose only call has N samples, each with a stack
of its own; --folded FILE writes the same stacks in folded form."""

import argparse
import gzip
import json
import random

FIELDS = {
    "level": "id asked again run streams mode existing existing_end t0 t1 routers warmup",
    "router": "id level stream flags t0 t1 existing",
    "step": "instance router level step creator status t0 t1 utime_ns stime_ns",
    "proc": "task parent instance tid tgid is_creator t comm",
    "exec": "task image instance t cpu_ns user_ns args comm",
    "dead": "task image instance t cpu_ns user_ns",
    "call": "task image instance seq nr detail t0 t1 ret cpu_ns blocked_ns runq_ns flags "
            "net_before net_after mnt_before mnt_after text",
    "off": "task instance why mode nr out waking in cpu_ns user_ns stack waker waker_instance "
           "waker_cpu_ns waker_user_ns waker_comm",
    "node": "id parent frame",
    "sample": "task image instance mode in_kernel nr seq t stack",
    "func": "task image instance seq nr node parent n total_ns child_ns off_ns child_off_ns function",
    "loss": "level events maps_full samples unpaired undecoded untagged sent samples_taken",
}
MONO = 1000000000
USER, CALL, START, EXIT = range(4)
BLOCKED, PREEMPT, BIRTH = range(3)
NR_START, NR_EXIT = -2, -3
NR_VFORK, NR_WAITID, NR_UNSHARE, NR_MOUNT = 58, 247, 272, 165
NS, MOUNT = 1, 2
NEWNS, NEWNET = 0x00020000, 0x40000000

ENTRY = ["entry_SYSCALL_64_after_hwframe", "do_syscall_64"]
UNSHARE = ENTRY + ["__x64_sys_unshare", "ksys_unshare", "unshare_nsproxy_namespaces",
                   "create_new_namespaces"]
RCU = ["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_exit_group", "do_exit",
       "exit_task_namespaces", "put_mnt_ns", "synchronize_rcu_expedited", "schedule"]


class Record:
    def __init__(self, path):
        # No time and no name in the header: the same bytes each time.
        self.raw = open(path, "wb")
        self.out = gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=self.raw, mtime=0)
        self.nodes = {}
        self.now = MONO + 1000
        self.tasks = 1
        self.instances = 0
        self.routers = 0
        self.seq = 0
        self.used = [0, 0]
        self.lines = []

    def write(self, text):
        self.lines.append(text)
        if len(self.lines) > 5000:
            self.flush()

    def flush(self):
        self.out.write(("\n".join(self.lines) + "\n").encode() if self.lines else b"")
        self.lines = []

    def put(self, kind, **v):
        row = []
        for name in FIELDS[kind].split():
            x = v.pop(name, "" if name in ("comm", "text", "args", "frame", "function",
                                           "waker_comm") else 0)
            if name in ("t", "t0", "t1", "out", "waking", "in"):
                x = 0 if x == 0 else x - MONO + 1
            row.append(x)
        assert not v, v
        self.write('{"%s":%s}' % (kind, json.dumps(row, separators=(",", ":"))))

    def header(self, args):
        backend = "untraced" if args.untraced else "none"
        self.write(json.dumps({
            "frtrace": 1, "version": "0", "clock": {"mono": MONO, "wall": 1700000000000000000},
            "fields": {k: v.split() for k, v in FIELDS.items()},
            "created": "2025-02-03T04:05:06Z", "command": "frtrace --at " + args.levels,
            "environment": {"kernel": "6.18.5", "machine": "x86_64", "cpus": 2, "hz": 250},
            "options": {"mode": "script", "freq": 999, "timeline": 1},
            "probes": {"backend": backend, "wanted": 0, "attached": 0, "missing": []}}))

    def stack(self, frames):
        parent = 0
        for f in frames:
            key = (parent, f)
            if key not in self.nodes:
                self.nodes[key] = len(self.nodes) + 1
                self.put("node", id=self.nodes[key], parent=parent, frame=f)
            parent = self.nodes[key]
        return parent

    def step(self, step, router, level, kernel, blocked, nr, flags, samples, functions):
        """The creator runs a command: 200 user, `kernel` in one call, `blocked` at its exit."""
        t0, creator = self.now, 1
        self.instances += 1
        self.tasks += 1
        i, child, at = self.instances, self.tasks, t0 + 60
        self.put("proc", task=child, parent=creator, instance=i, tid=1000 + child, tgid=1000 + child,
                 t=t0 + 20, comm="ip")
        self.call(creator, i, NR_VFORK, t0 + 10, t0 + 50, 40)
        self.put("off", task=child, instance=i, why=BIRTH, mode=START, nr=NR_START, out=t0 + 20,
                 waking=t0 + 40, **{"in": at}, waker=creator, waker_instance=i,
                 waker_cpu_ns=self.used[0] + 40, waker_user_ns=self.used[1] + 10)
        self.used[0] += 70
        self.used[1] += 15
        self.call(child, i, NR_START, t0 + 20, at + 5, 5)
        at += 5 + 200
        self.put("exec", task=child, image=1, instance=i, t=at, cpu_ns=205, user_ns=200,
                 args="ip\x1fnetns\x1fadd", comm="ip")
        seq = self.call(child, i, nr, at, at + kernel, kernel, detail=NS if flags else 0, flags=flags,
                        mnt_before=1, mnt_after=2 if flags & NEWNS else 1, net_before=1,
                        net_after=2 if flags & NEWNET else 1, image=1)
        for k, frames in enumerate(samples):
            self.put("sample", task=child, image=1, instance=i, mode=CALL, in_kernel=1, nr=nr, seq=seq,
                     t=at + 1 + k * max(1, kernel // (len(samples) + 1)), stack=self.stack(frames))
        if functions:
            for node, (parent, name, ns, below) in enumerate(functions, 1):
                self.put("func", task=child, image=1, instance=i, seq=seq, nr=nr, node=node,
                         parent=parent, n=1, total_ns=ns, child_ns=below, function=name)
        at += kernel
        cpu = 205 + kernel
        exit_at = at
        if blocked:
            self.put("off", task=child, instance=i, why=BLOCKED, mode=EXIT, nr=NR_EXIT, out=at + 5,
                     waking=at + 5 + blocked, **{"in": at + 8 + blocked}, cpu_ns=cpu + 5, user_ns=200,
                     stack=self.stack(RCU), waker_comm="rcu_exp_gp_kthr")
            at += blocked + 3
        self.call(child, i, NR_EXIT, exit_at, at + 80, 80, image=1)
        self.put("dead", task=child, image=1, instance=i, t=at + 80, cpu_ns=cpu + 80, user_ns=200)
        at += 50
        self.call(creator, i, NR_WAITID, t0 + 55, at + 15, 20)
        self.put("off", task=creator, instance=i, why=BLOCKED, mode=CALL, nr=NR_WAITID, out=t0 + 70,
                 waking=at, **{"in": at + 10}, cpu_ns=self.used[0], user_ns=self.used[1], waker=child,
                 waker_instance=i, waker_cpu_ns=cpu + 50, waker_user_ns=200, waker_comm="ip")
        self.used[0] += 10
        self.used[1] += 5
        self.now = at + 20
        self.put("step", instance=i, router=router, level=level, step=step, creator=creator, t0=t0,
                 t1=self.now, utime_ns=200, stime_ns=kernel)

    def call(self, task, instance, nr, t0, t1, cpu, **more):
        self.seq += 1
        self.put("call", task=task, instance=instance, seq=self.seq, nr=nr, t0=t0, t1=t1, cpu_ns=cpu,
                 blocked_ns=t1 - t0 - cpu, **more)
        return self.seq

    def close(self, cut):
        if not cut:
            self.write('{"end":{"status":0}}')
        self.flush()
        self.out.close()
        self.raw.close()


def hostile(frames):
    return frames[:-1] + ["evil;<script>alert(1)</script>\"'\x1b[31m\u00e4", "", "x" * 4096,
                          "0xffffffffc0123456", frames[-1]]


def small(r, args, level, grown):
    """What a router at this level does: the exec step grows."""
    copy = 4000000 if grown else 100000
    samples = [UNSHARE + ["copy_mnt_ns", "copy_tree", "clone_mnt"]] * 4 + \
              [UNSHARE + ["copy_mnt_ns", "copy_tree"]]
    if args.hostile:
        samples.append(hostile(samples[0]))
    if args.no_stacks:
        samples = []
    functions = [(0, "copy_mnt_ns", copy - 1000, copy - 3000),
                 (1, "copy_tree", copy - 3000, 0)] if args.functions else []
    net = [UNSHARE + ["copy_net_ns", "setup_net", "ops_init"]] * (0 if args.no_stacks else 3)
    for _ in range(args.routers):
        r.routers += 1
        t0 = r.now
        jitter = r.routers % 7 * 1000
        r.step(0, r.routers, level, 700000 + jitter, 0, NR_UNSHARE, NEWNET, net, None)
        r.step(1, r.routers, level, copy + jitter, 300000, NR_UNSHARE, NEWNS, samples, functions)
        end = r.now
        r.step(5, r.routers, level, 200000 + jitter, 0, 59, 0, [], None)
        r.put("router", id=r.routers, level=level, flags=2, t0=t0, t1=end,
              existing=3 + r.routers)


def many(r, args, level, folded):
    """One call with as many stacks as asked, no two alike."""
    rnd = random.Random(level)
    names = ["kernel_function_%d_name" % (i * 7919 % 600) for i in range(600)]
    stacks, cur = [], names[:args.depth]
    for _ in range(args.stacks):
        keep = rnd.randrange(args.depth)
        cur = cur[:keep] + [rnd.choice(names) for _ in range(args.depth - keep)]
        stacks.append(cur)
    r.routers += 1
    t0 = r.now
    r.step(1, r.routers, level, args.stacks * 1000000, 0, NR_UNSHARE, NEWNS, stacks, None)
    r.put("router", id=r.routers, level=level, flags=2, t0=t0, t1=r.now, existing=3)
    if folded:
        with open(folded, "w") as f:
            for s in stacks:
                f.write("frtrace;exec;unshare(NEWNS);%s 1000000\n" % ";".join(x + "_[k]" for x in s))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--levels", default="0,4000")
    p.add_argument("--routers", type=int, default=6)
    p.add_argument("--stacks", type=int, default=0)
    p.add_argument("--depth", type=int, default=40)
    p.add_argument("--folded")
    for flag in ("no-stacks", "untraced", "cut", "functions", "hostile"):
        p.add_argument("--" + flag, action="store_true")
    args = p.parse_args()
    r = Record(args.file)
    r.header(args)
    if not args.untraced:
        r.put("proc", task=1, is_creator=1, t=MONO + 1, comm="frtrace")
    for i, at in enumerate(int(x) for x in args.levels.split(",")):
        t0, before = r.now, r.routers
        if args.stacks:
            many(r, args, i + 1, args.folded)
        elif args.untraced:
            for _ in range(args.routers):
                r.routers += 1
                r.put("step", instance=0, router=r.routers, level=i + 1, step=1, t0=r.now,
                      t1=r.now + 1000000 + at * 100, utime_ns=1000, stime_ns=900000)
                r.put("router", id=r.routers, level=i + 1, flags=4, t0=r.now,
                      t1=r.now + 1000000 + at * 100, existing=at + 3)
                r.now += 2000000 + at * 100
        else:
            small(r, args, i + 1, at > 0)
        r.put("loss", level=i + 1, sent=r.seq)
        r.put("level", id=i + 1, asked=at, run=1, streams=1, existing=at + 3,
              existing_end=at + 3 + r.routers - before, t0=t0, t1=r.now, routers=r.routers - before)
    r.close(args.cut)


main()
