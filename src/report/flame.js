/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One flame graph that answers: zoom, search, reset, the keyboard. It works on
 * what is drawn already, svg elements of class "f" in depth-first order whose
 * x and width are percents of the panel, so the same code serves the SVG file
 * and the report page. See asset.h for why it is written this way.
 *
 * panel: the svg around the frames, data-flip="1" when the root is on top.
 * tip(text, box): shows text beside box (client coordinates), null hides it.
 */
FRT_ASSET(function (panel, tip) {
	var ROW = 18, NS = "http://www.w3.org/2000/svg";
	var items = [], zoomed = 0, query = "", current = -1, charWidth = 7.3, changed = null;
	var flip = panel.getAttribute("data-flip") === "1";
	var rows = Math.round(parseFloat(panel.getAttribute("height")) / ROW);

	function load() {
		var open = [];
		Array.prototype.forEach.call(panel.querySelectorAll(".f"), function (el, i) {
			var title = el.querySelector("title"), text = el.querySelector("text");
			var row = Math.round(parseFloat(el.getAttribute("y")) / ROW);
			var it = { el: el, text: text, title: title ? title.textContent : "",
				   x: parseFloat(el.getAttribute("x")),
				   w: parseFloat(el.getAttribute("width")),
				   d: flip ? row : rows - 1 - row, next: 0, up: -1, hit: false,
				   sx: el.getAttribute("x"), sw: el.getAttribute("width"), st: null,
				   shown: true };
			it.name = it.title.split("\n")[0];
			it.label = el.getAttribute("data-l") || it.name;
			it.low = it.name.toLowerCase();
			if (title) {
				el.removeChild(title);
			}
			while (open.length && items[open[open.length - 1]].d >= it.d) {
				items[open.pop()].next = i;
			}
			it.up = open.length ? open[open.length - 1] : -1;
			open.push(i);
			items.push(it);
			el.frame = i;
		});
		while (open.length) {
			items[open.pop()].next = items.length;
		}
	}

	function measure() {
		var probe = document.createElementNS(NS, "text"), w;
		probe.setAttribute("class", "f");
		probe.textContent = "mmmmmmmmmm";
		panel.appendChild(probe);
		try {
			w = probe.getComputedTextLength() / 10;
		} catch (e) {
			w = 0;
		}
		panel.removeChild(probe);
		if (w > 1) {
			charWidth = w;
		}
	}

	function label(it, px) {
		var room = Math.floor((px - 7) / charWidth), s = it.label;
		if (room < 3) {
			s = "";
		} else if (s.length > room) {
			s = s.slice(0, room - 1) + "…";
		}
		if (s === it.st) {
			return;
		}
		it.st = s;
		if (!it.text) {
			if (!s) {
				return;
			}
			it.text = document.createElementNS(NS, "text");
			it.text.setAttribute("x", "4");
			it.text.setAttribute("y", "12.5");
			it.el.appendChild(it.text);
		}
		it.text.textContent = s;
	}

	function show(it, on) {
		if (it.shown !== on) {
			it.shown = on;
			it.el.style.display = on ? "" : "none";
		}
	}

	function place(it, x, w, px) {
		var sx = x.toFixed(4) + "%", sw = w.toFixed(4) + "%";
		show(it, true);
		if (sx !== it.sx) {
			it.sx = sx;
			it.el.setAttribute("x", sx);
		}
		if (sw !== it.sw) {
			it.sw = sw;
			it.el.setAttribute("width", sw);
		}
		label(it, px);
	}

	function draw() {
		var W = panel.getBoundingClientRect().width || 1, z = items[zoomed], i = 0, it, w;
		if (!z) {
			return;
		}
		while (i < items.length) {
			it = items[i];
			if (i < zoomed && it.next > zoomed) {
				place(it, 0, 100, W);
				it.el.classList.add("up");
				i++;
				continue;
			}
			w = i >= zoomed && i < z.next && z.w > 0 ? it.w / z.w * 100 : 0;
			if (w * W / 100 < 0.25) {
				for (; i < it.next; i++) {
					show(items[i], false);
				}
				continue;
			}
			place(it, (it.x - z.x) / z.w * 100, w, w * W / 100);
			it.el.classList.remove("up");
			i++;
		}
	}

	function describe(i) {
		return items[i].title;
	}

	function mark(i, quiet) {
		if (current >= 0 && items[current]) {
			items[current].el.classList.remove("cur");
		}
		current = i;
		if (i < 0) {
			tip(null);
			return;
		}
		items[i].el.classList.add("cur");
		panel.setAttribute("aria-label", describe(i).split("\n").join(", "));
		if (!quiet) {
			tip(describe(i), items[i].el.getBoundingClientRect());
		}
	}

	function zoom(i) {
		zoomed = i;
		draw();
		search(query);
		if (changed) {
			changed();
		}
	}

	/* Matches below a match are in its width already. Returns their share of
	 * what is zoomed to and how many frames match. */
	function search(q, exact) {
		var sum = 0, n = 0, until = 0, z = items[zoomed];
		query = q;
		q = q.toLowerCase();
		items.forEach(function (it, i) {
			var hit = q !== "" && (exact ? it.low === q : it.low.indexOf(q) >= 0);
			if (hit !== it.hit) {
				it.hit = hit;
				it.el.classList.toggle("hit", hit);
			}
			if (hit && z && i >= zoomed && i < z.next) {
				n++;
				if (i >= until) {
					sum += it.w;
					until = it.next;
				}
			}
		});
		return { n: n, share: z && z.w > 0 ? sum / z.w * 100 : 0 };
	}

	function turn(on) {
		flip = on;
		items.forEach(function (it) {
			it.el.setAttribute("y", (flip ? it.d : rows - 1 - it.d) * ROW);
		});
	}

	function widest(i) {
		var best = -1, k = i + 1;
		for (; k < items[i].next; k = items[k].next) {
			if (items[k].shown && (best < 0 || items[k].w > items[best].w)) {
				best = k;
			}
		}
		return best;
	}

	function sibling(i, step) {
		var up = items[i].up, before = -1, k = up < 0 ? 0 : up + 1;
		var end = up < 0 ? items.length : items[up].next;
		for (; k < end; k = items[k].next) {
			if (k > i && step > 0 && items[k].shown) {
				return k;
			}
			if (k === i && step < 0) {
				return before;
			}
			if (items[k].shown) {
				before = k;
			}
		}
		return -1;
	}

	function key(e) {
		var to = -1, c = current < 0 ? zoomed : current;
		if (e.ctrlKey || e.altKey || e.metaKey || !items.length) {
			return;
		}
		if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
			to = sibling(c, e.key === "ArrowRight" ? 1 : -1);
		} else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
			to = (e.key === "ArrowDown") === flip ? widest(c) : items[c].up;
		} else if (e.key === "Home") {
			to = zoomed;
		} else if (e.key === "Enter" || e.key === " ") {
			zoom(c);
			to = c;
		} else if (e.key === "Escape") {
			zoom(0);
			to = 0;
		} else {
			return;
		}
		e.preventDefault();
		if (to >= 0) {
			mark(to);
		}
	}

	function at(e) {
		var el = e.target && e.target.closest ? e.target.closest(".f") : null;
		return el && el.frame !== undefined ? el.frame : -1;
	}

	panel.setAttribute("tabindex", "0");
	panel.setAttribute("role", "application");
	panel.setAttribute("aria-roledescription", "flame graph");
	panel.addEventListener("click", function (e) {
		var i = at(e);
		if (i >= 0) {
			zoom(i);
			mark(i);
		}
	});
	panel.addEventListener("mousemove", function (e) {
		var i = at(e);
		if (i >= 0) {
			tip(describe(i), { left: e.clientX, right: e.clientX, top: e.clientY - 4,
					   bottom: e.clientY + 14 });
		} else {
			tip(null);
		}
	});
	panel.addEventListener("mouseleave", function () {
		tip(null);
	});
	panel.addEventListener("focus", function () {
		if (current < 0 && items.length) {
			mark(zoomed, true);
		}
	});
	panel.addEventListener("blur", function () {
		tip(null);
	});
	panel.addEventListener("keydown", key);
	load();
	measure();
	draw();
	return { items: items, draw: draw, zoom: zoom, search: search, turn: turn, mark: mark,
		 zoomed: function () {
			 return zoomed;
		 },
		 onzoom: function (f) {
			 changed = f;
		 } };
})
