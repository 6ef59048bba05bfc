#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads exports by the rules of those who will read them, not by ours.

readers.py KIND FILE [ARGS]: exits 1 and says why when FILE breaks a rule, prints a total
where there is one.
  folded FILE [COLUMNS]   one stack a line, integers behind the last spaces
  svg FILE                well-formed XML that refers to nothing outside itself
  html FILE               tags balanced, nothing from outside
  speedscope FILE         the published file-format schema, as far as it goes
  trace FILE              the trace-event format: complete events, nested, in order
  csv FILE                every row as long as its heading
  pprof FILE PROTO_DIR    protoc --decode, and the values of the first sample type added up"""

import collections
import csv
import gzip
import html.parser
import json
import re
import subprocess
import sys
import xml.etree.ElementTree


def need(condition, text):
    if not condition:
        print(text)
        sys.exit(1)


def read_folded(path, columns="1"):
    sums = [0] * int(columns)
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    need(lines.pop() == "", "the last line does not end")
    need(lines, "no line")
    for line in lines:
        m = re.match(r"^(.*?)((?: \d+){%d})$" % len(sums), line)
        need(m, "not a stack with %s values: %r" % (columns, line))
        for frame in m.group(1).split(";"):
            need(frame and frame.strip() == frame, "an empty frame in %r" % line)
            need(not re.search(r"[\x00-\x1f\x7f]", frame), "a control byte in %r" % line)
            need(not re.search(r"\b(0x)?[0-9a-f]{12,16}\b", frame), "an address in %r" % line)
        for i, v in enumerate(m.group(2).split()):
            sums[i] += int(v)
    print(*sums)


def outside_references(text):
    text = text.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xhtml", "")
    return re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\((?!#)", text)


def read_svg(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    try:
        root = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as e:
        need(False, "not XML: %s" % e)
    need(root.tag.endswith("svg"), "the root is %s" % root.tag)
    need(not outside_references(text), "refers to %s" % outside_references(text))
    for el in root.iter():
        for k in el.attrib:
            need(not k.lower().startswith("on"), "an event handler in an attribute: %s" % k)


class Tags(html.parser.HTMLParser):
    VOID = {"meta", "link", "br", "input", "hr", "img"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.ids = collections.Counter()
        self.links = []

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        need(not any(k.startswith("on") for k in a), "an event handler in an attribute: %s" % a)
        if "id" in a:
            self.ids[a["id"]] += 1
        if tag == "a":
            self.links.append(a.get("href", ""))
        need(tag != "img" and "src" not in a, "%s loads something" % tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        need(self.open and self.open[-1] == tag, "</%s> closes %s" % (tag, self.open[-3:]))
        self.open.pop()


def read_html(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    p = Tags()
    p.feed(text)
    p.close()
    need(not p.open, "never closed: %s" % p.open)
    need(max(p.ids.values(), default=0) <= 1, "an id twice: %s" % p.ids.most_common(1))
    for link in p.links:
        need(link.startswith("#") and link[1:] in p.ids, "a link to nowhere: %s" % link)
    need(not outside_references(text), "refers to %s" % outside_references(text))
    for m in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S):
        json.loads(m)


def read_speedscope(path):
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    need(d["$schema"] == "https://www.speedscope.app/file-format-schema.json", "another schema")
    frames = d["shared"]["frames"]
    need(all(isinstance(f["name"], str) and f["name"] for f in frames), "a frame without a name")
    need(d["profiles"], "no profile")
    total = 0
    for p in d["profiles"]:
        need(p["type"] == "sampled" and p["unit"] == "nanoseconds", "type %s" % p["type"])
        need(len(p["samples"]) == len(p["weights"]), "%s: samples without weights" % p["name"])
        need(p["startValue"] == 0 and p["endValue"] == sum(p["weights"]), p["name"] + ": does not add up")
        need(all(isinstance(w, int) and w > 0 for w in p["weights"]), p["name"] + ": weights")
        for s in p["samples"]:
            need(s and all(isinstance(i, int) and 0 <= i < len(frames) for i in s), "a stack: %s" % s)
        if not p["name"].count("functions"):
            total += p["endValue"]
    print(total)


def read_trace(path):
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    names, last = set(), {}
    for e in d["traceEvents"]:
        need({"ph", "pid", "tid", "name"} <= e.keys(), "an event lacks a key: %s" % e)
        thread = (e["pid"], e["tid"])
        if e["ph"] == "M":
            names.add((e["name"],) + thread)
            continue
        need(e["ph"] == "X", "phase %s" % e["ph"])
        need(e["ts"] >= 0 and e["dur"] > 0, "time of %s" % e)
        # In ns, so that nothing is lost to binary fractions.
        t0 = round(e["ts"] * 1000)
        t1 = t0 + round(e["dur"] * 1000)
        opened, before = last.setdefault(thread, ([], [0]))
        need(t0 >= before[0], "out of order: %s" % e)
        before[0] = t0
        while opened and opened[-1] <= t0:
            opened.pop()
        need(not opened or t1 <= opened[-1], "not nested: %s" % e)
        opened.append(t1)
        need(("process_name", e["pid"], 0) in names, "a process without a name: %s" % e)
        need(("thread_name",) + thread in names, "a thread without a name: %s" % e)
    need(last, "no event")
    kinds = collections.Counter(e.get("cat") for e in d["traceEvents"] if e["ph"] == "X")
    print(*("%s=%d" % k for k in sorted(kinds.items())))


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f, strict=True))
    need(len(rows) > 1, "no row")
    for i, row in enumerate(rows):
        need(len(row) == len(rows[0]), "row %d has %d fields, the heading %d" % (i + 1, len(row), len(rows[0])))
    print(len(rows) - 1)


def read_pprof(path, protos):
    with gzip.open(path) as f:
        data = f.read()
    with open(path, "rb") as f:
        need(f.read(8)[4:8] == b"\0\0\0\0", "the gzip header has a time in it")
    text = subprocess.run(["protoc", "--decode=perftools.profiles.Profile", "-I", protos, "profile.proto"],
                          input=data, stdout=subprocess.PIPE, check=True).stdout.decode()
    need(not re.search(r"^\s*\d+:", text, re.M), "fields the published format does not have")
    total, values = 0, None
    for line in text.split("\n"):
        if line.startswith("sample {"):
            values = []
        elif line.startswith("}") and values:
            total += values[0] + values[1]
            values = None
        elif values is not None and line.strip().startswith("value:"):
            values.append(int(line.split(":")[1]))
    print(total)


readers = {k[5:]: v for k, v in list(globals().items()) if k.startswith("read_")}
if len(sys.argv) < 3 or sys.argv[1] not in readers:
    print(__doc__)
    sys.exit(2)
readers[sys.argv[1]](*sys.argv[2:])
