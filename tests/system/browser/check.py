#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Opens exported pages in a real browser and uses them.

check.py OUTPUTS SHOTS [SPEEDSCOPE]: OUTPUTS is what `test_export --write` left,
SHOTS where the screenshots go, SPEEDSCOPE an unpacked speedscope package.
Prints a line per case as tests/system/run counts them."""

import base64
import json
import os
import sys

import webdriver

failures = 0


def case(name, problem):
    """problem: None or "" is a pass."""
    global failures
    if problem:
        failures += 1
        print("not ok browser: " + name)
        print("    " + str(problem).replace("\n", "\n    "))
    else:
        print("ok browser: " + name)
    sys.stdout.flush()


def differs(got, want):
    return None if got == want else "got %r, wanted %r" % (got, want)


def errors(b):
    return "\n".join(e["message"] for e in b.console() if e["level"] in ("SEVERE", "WARNING"))


# The frame (in document order) whose name is NAME: its place among all frames.
FRAME = """
var all = document.querySelectorAll('.p .f');
for (var i = 0; i < all.length; i++) {
    var t = all[i].querySelector('text');
    if (t && t.textContent.replace(/^[\u25b2\u25bc] /, '') === arguments[0]) {
        return i;
    }
}
return -1;
"""
BOX = """
var r = document.querySelectorAll('.p .f')[arguments[0]].getBoundingClientRect();
return [r.left, r.top, r.width, r.height];
"""


def frame(b, name):
    i = b.run(FRAME, name)
    if i < 0:
        raise AssertionError("no frame " + name)
    return i


def click_frame(b, i):
    b.run("""
    var el = document.querySelectorAll('.p .f')[arguments[0]].querySelector('rect');
    el.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    """, i)


def panel_width(b):
    return b.run("return document.querySelector('.p').getBoundingClientRect().width")


def svg_basics(b, path):
    b.size(1280, 900)
    b.open(path)
    case("svg opens without an error", errors(b))
    case("svg takes the window's width",
         differs(b.run("return document.documentElement.getBoundingClientRect().width"), 1280))
    case("svg needs nothing from outside", differs(b.run(
        "return performance.getEntriesByType('resource').length"), 0))


def svg_zoom(b):
    i = frame(b, "do_exit_[k]")
    before = b.run(BOX, i)
    click_frame(b, i)
    after = b.run(BOX, i)
    wide = b.run("return document.querySelectorAll('.p')[arguments[0]].getBoundingClientRect().width",
                 b.run("""var f = document.querySelectorAll('.p .f')[arguments[0]];
                       return Array.from(document.querySelectorAll('.p')).indexOf(f.parentNode)""", i))
    case("a click zooms to the frame", None if abs(after[2] - wide) < 1 and before[2] < wide / 2
         else "width %g, then %g of %g" % (before[2], after[2], wide))
    hidden = b.run("return Array.from(document.querySelectorAll('.p .f')).filter("
                   "function (e) { return e.style.display === 'none' }).length")
    case("what is not below it goes away", None if hidden > 3 else "%d hidden" % hidden)
    b.click(".tools button")
    case("reset brings all back", differs(b.run(BOX, i), before))


def svg_search(b):
    want = b.run("""
    var sum = 0;
    document.querySelector('.p').querySelectorAll('.f').forEach(function (f) {
        var t = f.querySelector('text');
        if (t && t.textContent === 'copy_tree_[k]') { sum += parseFloat(f.getAttribute('width')); }
    });
    return sum.toFixed(1);
    """)
    b.write(".tools input", "copy_tree_[k]")
    found = b.run("return document.querySelector('.found').textContent")
    case("search tells the matched share", None if want != "0.0" and ("matched %s %%" % want) in found
         else "%r, frames add up to %s" % (found, want))
    hits = b.run("return document.querySelectorAll('.p .hit').length")
    case("search marks the frames", differs(hits, 1))
    b.press("Escape")
    case("Escape in the field clears it", differs(b.run(
        "return [document.querySelector('.tools input').value, document.querySelectorAll('.hit').length]"),
        ["", 0]))


def svg_keyboard(b):
    b.run("document.querySelector('.p').focus()")
    labels = []
    for key in ("Up", "Up", "Left", "Enter"):
        b.press(key)
        labels.append(b.run("return document.querySelector('.p').getAttribute('aria-label')"))
    case("arrows walk the frames", None if len(set(labels[:3])) == 3 else labels)
    box = b.run("return document.querySelector('.p .cur').getBoundingClientRect().width")
    case("Enter zooms", None if abs(box - panel_width(b)) < 1 else box)
    b.press("Escape")
    b.press("/")
    case("/ goes to the search field",
         differs(b.run("return document.activeElement.type"), "search"))


def svg_hover(b):
    x, y, w, h = b.run(BOX, frame(b, "do_exit_[k]"))
    b.hover(x + w / 2, y + h / 2)
    text = b.run("return document.querySelector('.tip').textContent")
    missing = [part for part in ("do_exit_[k]", " ns)", " %", "sampled") if part not in text]
    case("hovering tells ns, share, n and source",
         None if not missing and any(c.isdigit() for c in text) else "%r lacks %s" % (text, missing))


def svg_turn(b):
    i = frame(b, "frtrace")
    before = b.run(BOX, i)[1]
    b.run("document.querySelectorAll('.tools button')[1].click()")
    case("icicle turns the graph over", None if b.run(BOX, i)[1] < before else "the root did not move")


def svg_narrow(b, outputs, shots):
    for name in ("levels", "diff", "exec-4000-icicle-off", "rate"):
        for width in (1280, 400):
            for dark in (False, True):
                b.size(width, 900, dark)
                b.open("%s/%s.svg" % (outputs, name))
                b.screenshot("%s/%s-%d%s.png" % (shots, name, width, "-dark" if dark else ""))
                over = b.run("return document.documentElement.scrollWidth - window.innerWidth")
                case("%s.svg at %d px%s fits" % (name, width, ", dark" if dark else ""),
                     errors(b) or (None if over <= 0 else "%d px too wide" % over))


def svg_without_script(b, outputs, shots):
    b.size(1280, 900)
    b.cdp("Emulation.setScriptExecutionDisabled", value=True)
    try:
        b.open(outputs + "/levels.svg")
        b.screenshot(shots + "/levels-no-script.png")
        tree = b.cdp("DOM.getDocument", depth=-1)
        text = json.dumps(tree)
    finally:
        b.cdp("Emulation.setScriptExecutionDisabled", value=False)
    lacking = [t for t in ("copy_mnt_ns_[k]", "existing namespaces", "per router") if t not in text]
    case("svg is readable without scripts", lacking)


def svg_colours(b, outputs):
    """Growth and its absence differ in more than colour."""
    b.size(1280, 900)
    b.open(outputs + "/diff.svg")
    marks = b.run("""
    var bad = 0, n = 0;
    document.querySelectorAll('.p .f').forEach(function (f) {
        var t = f.querySelector('text'), c = f.getAttribute('class');
        if (!t || t.textContent.length < 5) { return; }
        n++;
        if (/ p/.test(c) !== t.textContent.startsWith('\u25b2')) { bad++; }
        if (/ m/.test(c) !== t.textContent.startsWith('\u25bc')) { bad++; }
    });
    return [n > 10, bad];
    """)
    case("growth has a sign, not only a colour", differs(marks, [True, 0]))


def contrast(b, name):
    """WCAG contrast of each visible text with the colour right behind it."""
    worst = b.run("""
    function lum(c) {
        var v = c.match(/[0-9.]+/g).slice(0, 3).map(function (x) {
            x = x / 255;
            return x <= 0.03928 ? x / 12.92 : Math.pow((x + 0.055) / 1.055, 2.4);
        });
        return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
    }
    var worst = [99, ''];
    document.querySelectorAll('.p .f').forEach(function (f) {
        var t = f.querySelector('text'), r = f.querySelector('rect'), a, b, c;
        if (!t || !t.textContent || !r) { return; }
        a = lum(getComputedStyle(t).fill);
        b = lum(getComputedStyle(r).fill);
        c = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (c < worst[0]) { worst = [c, f.getAttribute('class')]; }
    });
    return worst;
    """)
    case(name + ": text on frames has contrast", None if worst[0] >= 4.5 else worst)


def html_basics(b, path):
    b.size(1280, 900)
    b.open(path)
    case("html opens without an error", errors(b))
    ms = b.run("var t = performance.timing; return t.loadEventEnd - t.navigationStart")
    case("html opens in under a second (%d ms)" % ms, None if 0 < ms < 1000 else ms)
    case("html is below 2 MiB", None if os.path.getsize(path) < 2 << 20 else os.path.getsize(path))
    case("html needs nothing from outside", differs(b.run(
        "return performance.getEntriesByType('resource').filter(function (e) {"
        "return !e.name.startsWith('data:') }).length"), 0))
    case("names do nothing on the page", differs(b.run(
        "return [document.querySelectorAll('frame, main b:not(.note b)').length]"), [0]))


def html_sort(b):
    values = "return Array.from(document.querySelectorAll('table.growth tbody tr')).map(" \
             "function (r) { return parseFloat(r.cells[1].getAttribute('data-v')) })"
    b.run("document.querySelectorAll('table.growth th button')[1].click()")
    v = b.run(values)
    case("growth sorts by its column", None if v == sorted(v, reverse=True) and len(v) > 5 else v)
    b.run("document.querySelectorAll('table.growth th button')[1].click()")
    v = b.run(values)
    case("and the other way round", None if v == sorted(v) else v)
    case("the sorted column says so", differs(b.run(
        "return document.querySelectorAll('table.growth th')[1].getAttribute('aria-sort')"), "ascending"))


def html_link(b):
    rows = b.run("return Array.from(document.querySelectorAll('a.frame')).map("
                 "function (a) { return [a.dataset.step, a.dataset.frame, a.dataset.kind] })")
    for i, (step, name, kind) in enumerate(rows):
        b.run("document.querySelectorAll('a.frame')[arguments[0]].click()", i)
        state = b.run("""
        var p = document.querySelector('#graph .p');
        return [document.getElementById('step').value, document.getElementById('kind').value,
                p.getAttribute('aria-label').split(',')[0], p === document.activeElement,
                document.querySelectorAll('.p .hit').length > 0,
                document.querySelector('.state').textContent.indexOf('growth') >= 0];
        """)
        case("growth row %d leads to %s" % (i + 1, ascii(name)),
             differs([state[0], state[1], state[3], state[4], state[5]],
                     [step, "2" if kind == "off" else "1", True, True, True]) or
             (None if name.split(",")[0] == state[2] else "label %r" % state[2]))
    case("no error on the way", errors(b))


def choose(b, select, text):
    b.run("""
    var s = document.getElementById(arguments[0]);
    for (var i = 0; i < s.options.length; i++) {
        if (s.options[i].textContent === arguments[1]) {
            s.selectedIndex = i;
            s.dispatchEvent(new Event('change'));
            return;
        }
    }
    throw new Error('no choice ' + arguments[1]);
    """, select, text)


def html_switches(b):
    state = "return document.querySelector('.state').textContent"
    seen = []
    for step in ("router", "exec", "delete"):
        for view in ("at 0", "at 4000", "growth 0 → 4000", "growth 0 → 4000, widths at 0"):
            for kind in ("CPU and waiting", "CPU", "waiting"):
                choose(b, "step", step)
                choose(b, "view", view)
                choose(b, "kind", kind)
                seen.append(b.run(state))
    case("every step, level and kind has a graph of its own",
         None if len(set(seen)) > 24 and not any("NaN" in s for s in seen) else seen)
    choose(b, "step", "router")
    choose(b, "set", "probed functions")
    choose(b, "view", "at 4000")
    choose(b, "kind", "CPU and waiting")
    case("probed functions are a graph of their own", None if frame(b, "copy_tree") >= 0 else "none")
    choose(b, "set", "stacks")
    b.write("#search", "copy_tree")
    case("search in the page", None if "matched" in b.run(state) else b.run(state))
    case("switching made no error", errors(b))


def html_keyboard(b, path):
    b.open(path)
    seen = []
    for _ in range(80):
        b.press("Tab")
        seen.append(b.run("var a = document.activeElement; return a.id || a.className.baseVal || "
                          "a.className || a.textContent"))
    lacking = [x for x in ("step", "view", "kind", "search", "frame", "p canvas") if x not in seen]
    case("all controls can be reached with Tab", lacking)


def html_shots(b, outputs, shots):
    for name in ("traced", "one-level", "three-levels", "untraced", "empty"):
        for width in (1280, 400):
            for dark in (False, True):
                b.size(width, 900, dark)
                b.open("%s/%s.html" % (outputs, name))
                b.screenshot("%s/%s-%d%s.png" % (shots, name, width, "-dark" if dark else ""), True)
                over = b.run("return document.documentElement.scrollWidth - window.innerWidth")
                case("%s.html at %d px%s fits" % (name, width, ", dark" if dark else ""),
                     errors(b) or (None if over <= 0 else "%d px too wide" % over))
    b.size(1280, 900)
    b.open(outputs + "/traced.html")
    pdf = b.pdf()
    with open(shots + "/traced.pdf", "wb") as f:
        f.write(pdf)
    case("html prints", None if pdf.startswith(b"%PDF") and len(pdf) > 20000 else len(pdf))


def speedscope(b, package, path):
    """As its own command line does: the page loads a script that hands over the file."""
    with open(path, "rb") as f:
        data = base64.b64encode(f.read()).decode()
    script = path + ".js"
    with open(script, "w") as f:
        f.write("speedscope.loadFileFromBase64(%s, %s)" % (json.dumps(os.path.basename(path)),
                                                           json.dumps(data)))
    page = os.path.join(package, "dist/release/index.html")
    b.size(1280, 900)
    b._do("/url", {"url": "file://%s#localProfilePath=%s" % (page, script)})
    text = b.cdp("Runtime.evaluate", awaitPromise=True, returnByValue=True, expression="""
    new Promise(function (done) {
        var n = 0, t = setInterval(function () {
            var s = document.body.innerText;
            if (s.indexOf('cpu (n =') >= 0 || s.indexOf('went wrong') >= 0 || ++n > 100) {
                clearInterval(t);
                done(s);
            }
        }, 100);
    })""")["result"]["value"]
    case("speedscope loads the file", None if "cpu (n =" in text and "went wrong" not in text
         else text[:500])


def main():
    outputs, shots = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    b = webdriver.Browser()
    try:
        svg_basics(b, outputs + "/exec-4000.svg")
        svg_zoom(b)
        svg_search(b)
        svg_keyboard(b)
        svg_hover(b)
        svg_turn(b)
        svg_narrow(b, outputs, shots)
        svg_without_script(b, outputs, shots)
        svg_colours(b, outputs)
        for name in ("levels", "diff", "exec-4000-icicle-off", "functions"):
            for dark in (False, True):
                b.size(1280, 900, dark)
                b.open("%s/%s.svg" % (outputs, name))
                contrast(b, name + (", dark" if dark else ""))
        page = outputs + "/traced.html"
        html_basics(b, page)
        html_sort(b)
        html_link(b)
        html_switches(b)
        html_keyboard(b, page)
        html_shots(b, outputs, shots)
        if len(sys.argv) > 3:
            speedscope(b, os.path.abspath(sys.argv[3]), outputs + "/traced.speedscope.json")
    finally:
        b.close()
    sys.exit(1 if failures else 0)


main()
