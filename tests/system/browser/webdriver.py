# SPDX-License-Identifier: BSD-2-Clause
"""A browser over the WebDriver protocol: chromedriver and the standard library,
nothing to install. Only what the tests need."""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013",
        "Right": "\ue014", "Down": "\ue015", "Tab": "\ue004"}


def missing():
    """Why no browser can be had here; None when it can."""
    for name in ("chromium", "chromedriver"):
        if not shutil.which(name):
            return name + " is not installed"
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self):
        self.port = free_port()
        self.home = tempfile.mkdtemp(prefix="frtrace-browser-")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=%d" % self.port, "--log-level=OFF"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self.home))
        self.session = None
        try:
            self._start()
        except Exception:
            self.close()
            raise

    def _start(self):
        args = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                "--disable-background-networking", "--user-data-dir=" + self.home + "/profile"]
        if os.geteuid() == 0:
            args.append("--no-sandbox")
        want = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": args},
            "goog:loggingPrefs": {"browser": "ALL"}}}}
        for attempt in range(100):
            try:
                self.session = self._call("POST", "/session", want)["sessionId"]
                return
            except urllib.error.URLError as e:
                if isinstance(e, urllib.error.HTTPError) or attempt == 99:
                    raise
                time.sleep(0.1)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), data=data,
                                         method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as e:
            if path == "/session":
                raise
            raise AssertionError("%s: %s" % (path, json.load(e)["value"]["message"])) from None

    def _do(self, path, body):
        return self._call("POST", "/session/%s%s" % (self.session, path), body)

    def open(self, path):
        self._do("/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *args):
        return self._do("/execute/sync", {"script": script, "args": list(args)})

    def cdp(self, command, **params):
        return self._do("/goog/cdp/execute", {"cmd": command, "params": params})

    def size(self, width, height, dark=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def find(self, css):
        return self._do("/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self._do("/element/%s/click" % self.find(css), {})

    def write(self, css, text):
        self._do("/element/%s/value" % self.find(css), {"text": text})

    def press(self, *names):
        actions = []
        for n in names:
            key = KEYS.get(n, n)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._do("/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def hover(self, x, y):
        self._do("/actions", {"actions": [{"type": "pointer", "id": "m", "actions": [
            {"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]}]})

    def console(self):
        """What stood in the console since the last call."""
        return self._do("/se/log", {"type": "browser"})

    def screenshot(self, path, whole=False):
        params = {"format": "png"}
        if whole:
            box = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            params.update(captureBeyondViewport=True,
                          clip={"x": 0, "y": 0, "width": box["width"],
                                "height": min(box["height"], 6000), "scale": 1})
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.cdp("Page.captureScreenshot", **params)["data"]))

    def pdf(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        if self.session:
            try:
                self._call("DELETE", "/session/" + self.session)
            except Exception:
                pass
        self.driver.terminate()
        try:
            self.driver.wait(10)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.home, ignore_errors=True)
