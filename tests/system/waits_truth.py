#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds what a report says of waiting against what the stimuli wrote down.

usage: waits_truth.py held RECORD REPORT.json HOLDER.log CLASS TASK
       waits_truth.py cpu RECORD REPORT.json DAEMON.log TASK
Prints what is wrong, one line each; nothing when all is right.
"""
import json
import sys
import zlib

# What a wait's stack begins with, and what tells other locks from it.
LOCKS = {
    "lock:rtnl_mutex": (("__mutex_lock", "mutex_lock"), ("rcu", "exp_funnel", "kernfs")),
    "lock:namespace_sem": (("rwsem_down", "down_read", "down_write"), ("kernfs", "pernet")),
    "lock:file": (("flock_lock", "locks_lock", "__do_sys_flock"), ()),
}
SCHEDULER = ("schedule", "__schedule", "io_schedule", "preempt_schedule")
WARMUP, FAILED = 0x01, 0x20


def read_record(path):
    """The lines of a record by type, each a dict, and the clock's offset."""
    with open(path, "rb") as f:
        text = zlib.decompressobj(31).decompress(f.read()).decode()
    lines = text.split("\n")
    head = json.loads(lines[0])
    out = {}
    for line in lines[1:]:
        item = json.loads(line) if line else {}
        for kind, v in item.items():
            if isinstance(v, list):
                out.setdefault(kind, []).append(dict(zip(head["fields"][kind], v)))
    return out, head["clock"]["mono"]


def read_log(path, offset):
    with open(path) as f:
        rows = [[int(x) for x in line.split()] for line in f if line.strip()]
    return [[r[0] - offset, r[1] - offset] + r[2:] for r in rows]


def overlap(a, b, spans):
    return sum(max(0, min(b, s[1]) - max(a, s[0])) for s in spans)


def waits_of(report, wanted):
    for step in report["levels"][0]["steps"]:
        if step["step"] in ("router", "true", "delete"):
            continue
        for action in step["actions"]:
            for wait in action["waits"]:
                if wait["class"] == wanted:
                    yield wait


def check_held(record, report, log, wanted, task):
    rec, offset = read_record(record)
    spans = read_log(log, offset)
    measured = {r["id"] for r in rec["router"] if not r.get("flags", 0) & (WARMUP | FAILED)}
    # creation steps of the measured routers; the walls are theirs
    instances = {s["instance"] for s in rec["step"]
                 if s["router"] in measured and s["step"] < 4}
    nodes = {n["id"]: (n.get("parent", 0), n["frame"]) for n in rec["node"]}

    def waits_for_it(node):
        begins, other = LOCKS[wanted]
        frames = []
        while node:
            node, frame = nodes[node]
            if frames or not frame.startswith(SCHEDULER):
                frames.append(frame)
        return (bool(frames) and frames[0].startswith(begins) and
                not any(o in f for f in frames for o in other))

    truth = blocked = 0
    for off in rec["off"]:
        if off.get("instance", 0) not in instances or off.get("why", 0) or not off.get("waking", 0):
            continue
        if not waits_for_it(off.get("stack", 0)):
            continue
        blocked += off["waking"] - off["out"]
        truth += overlap(off["out"], off["waking"], spans)
    with open(report) as f:
        waits = list(waits_of(json.load(f), wanted))
    total = sum(w["ns"] for w in waits)
    held = sum(h["ns"] for w in waits for h in w["holders"] if h["task"] == task)
    kinds = {h["kind"] for w in waits for h in w["holders"] if h["task"] == task}
    say = "(%s: %.2f ms, held by %s %.2f; blocked on it %.2f, of that while it held %.2f)" % (
        wanted, total / 1e6, task, held / 1e6, blocked / 1e6, truth / 1e6)
    print(say, file=sys.stderr)
    if truth < 5e6:
        print("the holder was hardly waited for: %.3f ms" % (truth / 1e6), say)
    elif abs(total - blocked) > 0.1 * blocked + 1e6:
        print("time waited differs", say)
    elif abs(held - truth) > 0.1 * truth + 1e6:
        print("time held differs", say)
    if kinds - {"outside"}:
        print("the holder is", kinds, say)


def check_cpu(record, report, log, task):
    rec, offset = read_record(record)
    spans = read_log(log, offset)
    level = rec["level"][0]
    routers = [r for r in rec["router"] if r["level"] == level["id"]]
    a, b = min(r["t0"] for r in routers), max(r["t1"] for r in routers)
    with open(report) as f:
        doc = json.load(f)
    rows = [o for o in doc["outside"] if o["task"] == task]
    if len(rows) != 1:
        print("%d rows for %s" % (len(rows), task))
        return
    row = rows[0]
    truth = sum(s[2] * overlap(a, b, [s]) / (s[1] - s[0]) for s in spans)
    # what it burns just before and behind the routers is in the window, too
    more = sum(s[2] for s in spans if s[0] < b + 50e6 and s[1] > a - 50e6)
    each = truth / len(routers)
    say = "(CPU %.2f ms, truly %.2f to %.2f; per router %.3f, truly %.3f; woken by %s)" % (
        row["cpu_ns"] / 1e6, truth / 1e6, more / 1e6, row["per_router_ns"] / 1e6, each / 1e6,
        row["woken_by"])
    print(say, file=sys.stderr)
    if truth < 20e6:
        print("the daemon hardly ran", say)
    if not 0.9 * truth - 2e6 <= row["cpu_ns"] <= 1.1 * more + 2e6:
        print("CPU time differs", say)
    if not row["woken_by"] or "netlink message" not in row["woken_by"]:
        print("what woke it is not told", say)


def main():
    what, args = sys.argv[1], sys.argv[2:]
    {"held": check_held, "cpu": check_cpu}[what](*args)


main()
