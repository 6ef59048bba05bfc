/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report page's script: tables that sort, and graphs drawn from the data in
 * the page. flame: see flame.js; graphs: whether there is data. See asset.h.
 */
FRT_ASSET(function (flame, graphs) {
	var ROW = 18, MIN = 0.1 / 1200;

	function make(name, cls, text) {
		var el = document.createElement(name);
		if (cls) {
			el.className = cls;
		}
		if (text !== undefined) {
			el.textContent = text;
		}
		return el;
	}

	/* --- sorting --- */

	function sortKey(row, i) {
		var cell = row.cells[i], v = cell ? cell.getAttribute("data-v") : null;
		if (v !== null) {
			return v === "" ? -Infinity : parseFloat(v);
		}
		return cell ? cell.textContent : "";
	}

	function sortBy(table, th, i) {
		var down = th.getAttribute("aria-sort") !== "descending";
		var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
		if (!th.classList.contains("num")) {
			down = th.getAttribute("aria-sort") === "ascending";
		}
		Array.prototype.forEach.call(table.tHead.rows[0].cells, function (c) {
			c.removeAttribute("aria-sort");
		});
		th.setAttribute("aria-sort", down ? "descending" : "ascending");
		rows.forEach(function (r, k) {
			r.place = k;
		});
		rows.sort(function (a, b) {
			var x = sortKey(a, i), y = sortKey(b, i);
			var d = x < y ? -1 : x > y ? 1 : 0;
			return (down ? -d : d) || a.place - b.place;
		});
		rows.forEach(function (r) {
			body.appendChild(r);
		});
	}

	Array.prototype.forEach.call(document.querySelectorAll("table.sortable"), function (table) {
		Array.prototype.forEach.call(table.tHead.rows[0].cells, function (th, i) {
			var b = make("button", "", th.textContent);
			b.type = "button";
			th.textContent = "";
			th.appendChild(b);
			b.addEventListener("click", function () {
				sortBy(table, th, i);
			});
		});
	});
	/* A table that scrolls can be reached by the keyboard. */
	Array.prototype.forEach.call(document.querySelectorAll(".wide"), function (el) {
		if (el.scrollWidth > el.clientWidth) {
			el.tabIndex = 0;
		}
	});
	if (!graphs) {
		return;
	}

	/* --- numbers --- */

	function count(n) {
		return String(n).replace(new RegExp("(.)(?=(...)+$)", "g"), "$1,");
	}

	function time(ns) {
		var a = Math.abs(ns), u = a >= 1e9 ? [ 1e9, "s" ] : a >= 1e6 ? [ 1e6, "ms" ] :
					  a >= 1e3 ? [ 1e3, "µs" ] : [ 1, "ns" ];
		var v = ns / u[0], w = Math.abs(v);
		return v.toFixed(u[0] === 1 || w >= 100 ? 0 : w >= 10 ? 1 : 2) + " " + u[1];
	}

	function percent(part, whole) {
		return (whole ? part / whole * 100 : 0).toFixed(1) + " %";
	}

	function escape(s) {
		return s.split("&").join("&amp;").split("<").join("&lt;").split("\"").join("&quot;");
	}

	/* --- what is shown --- */

	var data = JSON.parse(document.getElementById("data").textContent);
	var levels = data.levels, L = levels.length, stride = 3 + 4 * L;
	var state = { set: 0, step: "router", kind: 3, from: -1, to: L - 1, wide: L - 1, flip: false };
	var box = document.getElementById("graph"), graph = null;
	var controls = make("div", "controls"), line = make("p", "state"), legend = make("ul", "legend");
	var tipBox = make("div", "tip"), panel, views = [];
	var NS = "http://www.w3.org/2000/svg";

	function tip(text, at) {
		var w, h, x, y;
		if (text === null) {
			tipBox.style.display = "none";
			return;
		}
		tipBox.textContent = text;
		tipBox.style.display = "block";
		w = tipBox.offsetWidth;
		h = tipBox.offsetHeight;
		x = Math.max(4, Math.min(at.left + 10, window.innerWidth - w - 6));
		y = at.bottom + 8;
		if (y + h > window.innerHeight && at.top - h - 8 > 0) {
			y = at.top - h - 8;
		}
		tipBox.style.transform = "translate(" + x + "px," + y + "px)";
	}

	function shown(step) {
		return state.step === "router" ? step.router === 1 : step.name === state.step;
	}

	/* ns of a node at a level, sum over the routers. */
	function sum(nodes, o, level) {
		return (state.kind & 1 ? nodes[o + 3 + 4 * level] : 0) +
		       (state.kind & 2 ? nodes[o + 5 + 4 * level] : 0);
	}

	function hits(set, o, level) {
		var a = set.nodes[o + 4 + 4 * level], b = set.nodes[o + 6 + 4 * level];
		if (set.id === "functions") {
			return Math.max(a, b);
		}
		return (state.kind & 1 ? a : 0) + (state.kind & 2 ? b : 0);
	}

	/* The selection as a list of nodes: offset, depth, n of its step, values
	 * per router at the level that gives the width and, for growth, at both. */
	function gather() {
		var set = data.sets[state.set], list = [], o, depth, step = null, on = false, v, n, f;
		for (o = 0; o < set.nodes.length; o += stride) {
			depth = set.nodes[o + 1];
			if (depth === 1) {
				step = data.steps.find(function (s) {
					return s.name === set.names[set.nodes[o]];
				});
				on = step && shown(step);
			}
			if (!on) {
				continue;
			}
			n = step.n;
			v = sum(set.nodes, o, state.wide) / (n[state.wide] || 1);
			f = state.from;
			list.push({ o: o, d: depth, n: n, v: v,
				    a: f < 0 ? 0 : sum(set.nodes, o, f) / (n[f] || 1),
				    b: f < 0 ? 0 : sum(set.nodes, o, state.to) / (n[state.to] || 1) });
		}
		return list;
	}

	function shade(delta, largest) {
		var s = largest ? Math.abs(delta) / largest : 0;
		return s >= 0.5 ? 5 : s >= 0.25 ? 4 : s >= 0.1 ? 3 : s >= 0.03 ? 2 : s >= 0.005 ? 1 : 0;
	}

	function source(set, e) {
		var how = set.nodes[e.o + 2], n = hits(set, e.o, state.wide);
		var text = [ "", "measured", "sampled", "measured and sampled" ][how];
		return n ? text + ", n = " + count(n) + (how === 2 ? " samples" :
			   set.id === "functions" ? " calls" : "") : text;
	}

	function hint(set, name, e, all) {
		var t = name + "\n", d = e.b - e.a;
		if (state.from < 0) {
			return t + time(e.v) + " per router, " + percent(e.v, all.v) + "\nsum " +
			       count(sum(set.nodes, e.o, state.wide)) + " ns over " +
			       e.n[state.wide] + "\n" + source(set, e);
		}
		t += "at " + levels[state.to].at + ": " + time(e.b) + " per router\nat " +
		     levels[state.from].at + ": " + time(e.a) + " per router\n";
		t += d > 0 ? "▲ grew by " : d < 0 ? "▼ shrank by " : "unchanged, ";
		t += time(Math.abs(d));
		if (all.b - all.a > 0) {
			t += ", " + percent(d, all.b - all.a) + " of the growth";
		}
		return t + "\n" + source(set, e);
	}

	function draw() {
		var set = data.sets[state.set], list = gather(), all = { v: 0, a: 0, b: 0 };
		var html = [], cursor = [], depth = 0, largest = 0, kept = [], x, hidden = 0;
		list.forEach(function (e) {
			if (e.d === 1) {
				all.v += e.v;
				all.a += e.a;
				all.b += e.b;
			}
			largest = Math.max(largest, Math.abs(e.b - e.a));
		});
		largest = Math.max(largest, Math.abs(all.b - all.a));
		kept.push({ root: true, d: 0, v: all.v, a: all.a, b: all.b });
		list.forEach(function (e) {
			if (e.v > 0 && e.v >= all.v * MIN) {
				kept.push(e);
				depth = Math.max(depth, e.d);
			} else if (e.v > 0) {
				hidden++;
			}
		});
		kept.forEach(function (e) {
			var name = e.root ? "frtrace" : set.names[set.nodes[e.o]];
			var cls = e.root ? "r" : set.classes[set.nodes[e.o]], mark = "", s, d = e.b - e.a;
			var text;
			x = cursor[e.d] || 0;
			cursor[e.d] = x + e.v;
			cursor[e.d + 1] = x;
			if (state.kind === 2 && cls.charAt(0) === "k") {
				cls = "o" + cls.slice(1);
			}
			if (state.from >= 0) {
				s = shade(d, largest);
				cls = s ? (d > 0 ? "p" : "m") + s : "z0";
				mark = s ? (d > 0 ? "▲ " : "▼ ") : "";
			}
			text = e.root ? name + "\n" + time(e.v) + " per router" : hint(set, name, e, all);
			html.push("<svg class=\"f " + cls + "\" x=\"" +
				  (all.v ? x / all.v * 100 : 0).toFixed(5) + "%\" y=\"" +
				  (state.flip ? e.d : depth - e.d) * ROW + "\" width=\"" +
				  (all.v ? e.v / all.v * 100 : 100).toFixed(5) + "%\" height=\"" +
				  (ROW - 1) + "\"" +
				  (mark ? " data-l=\"" + mark + escape(name) + "\"" : "") +
				  "><title>" + escape(text) +
				  "</title><rect width=\"100%\" height=\"100%\"/></svg>");
		});
		if (panel) {
			box.removeChild(panel);
		}
		panel = document.createElementNS(NS, "svg");
		panel.setAttribute("class", "p canvas");
		panel.setAttribute("height", (depth + 1) * ROW);
		panel.setAttribute("data-flip", state.flip ? "1" : "0");
		panel.innerHTML = html.join("");
		box.appendChild(panel);
		tip(null);
		graph = flame(panel, tip);
		graph.onzoom(search);
		say(all, hidden);
		search();
	}

	/* --- controls --- */

	function choice(name, id, options, value, act) {
		var label = make("label", "", name), select = make("select");
		select.id = id;
		options.forEach(function (o) {
			var el = make("option", "", o[1]);
			el.value = o[0];
			select.appendChild(el);
		});
		select.value = value;
		select.addEventListener("change", function () {
			act(select.value);
			draw();
		});
		label.appendChild(select);
		controls.appendChild(label);
		return select;
	}

	function button(text, act) {
		var b = make("button", "", text);
		b.type = "button";
		b.addEventListener("click", act);
		controls.appendChild(b);
		return b;
	}

	function listViews() {
		var i, last = L - 1;
		for (i = 0; i < L; i++) {
			views.push({ text: "at " + levels[i].at, from: -1, to: i, wide: i });
		}
		for (i = 0; i < last; i++) {
			views.push({ text: "growth " + levels[i].at + " → " + levels[last].at, from: i,
				     to: last, wide: last });
			views.push({ text: "growth " + levels[i].at + " → " + levels[last].at +
					   ", widths at " + levels[i].at, from: i, to: last, wide: i });
		}
	}

	function setView(i) {
		state.from = views[i].from;
		state.to = views[i].to;
		state.wide = views[i].wide;
	}

	function numbered(texts) {
		return texts.map(function (t, i) {
			return [ String(i), t ];
		});
	}

	var sets = data.sets.map(function (s, i) {
		return [ String(i), s.id === "stacks" ? "stacks" : "probed functions" ];
	}).filter(function (s) {
		return data.sets[s[0]].nodes.length > 0;
	});
	var steps = [ [ "router", "router" ] ].concat(data.steps.filter(function (s) {
		return s.name !== "router";
	}).map(function (s) {
		return [ s.name, s.name ];
	}));
	var stepSelect, viewSelect, kindSelect, setSelect, turner, field, found;

	function search() {
		var q = field.value, r = graph.search(q, state.exact === q && q !== "");
		found = q ? "matched " + r.share.toFixed(1) + " % in " + r.n + (r.n === 1 ? " frame" : " frames") : "";
		line.textContent = line.base + (found ? " · " + found : "");
	}

	function say(all, hidden) {
		var view = views[viewSelect.value], n, step;
		step = data.steps.find(shown);
		n = step ? step.n[state.wide] : 0;
		line.base = state.step + " " + view.text + ": " + time(all.v) + " per router, n = " + n;
		if (state.from >= 0) {
			line.base += ", " + (all.b >= all.a ? "+" : "−") +
				     time(Math.abs(all.b - all.a)) + " from " + levels[state.from].at;
		}
		if (hidden) {
			line.base += " · " + count(hidden) + " frames below 0.1 px not drawn";
		}
		legend.innerHTML = (state.from >= 0 ?
			[ [ "p5", "▲ grew" ], [ "p2", "▲ grew little" ], [ "z0", "no change" ],
			  [ "m2", "▼ shrank little" ], [ "m5", "▼ shrank" ] ] :
			state.set ? [ [ "t0", "probed function, measured" ] ] :
			[ [ state.kind === 2 ? "o0" : "k0", "kernel _[k]" ], [ "u0", "user" ],
			  [ "w0", "waiting" ], [ "q", "runqueue" ], [ "x", "not sampled" ] ]).map(function (e) {
			return "<li><svg class=\"f " + e[0] + "\"><rect width=\"13\" height=\"13\"/></svg>" +
			       e[1] + "</li>";
		}).join("");
	}

	function reset() {
		field.value = "";
		state.exact = null;
		graph.zoom(0);
		graph.mark(-1);
		search();
	}

	/* --- from a growth row to its frame --- */

	function open(a) {
		var set = a.getAttribute("data-set") === "functions" && sets.length > 1 ? 1 : 0;
		var name = a.getAttribute("data-frame"), action = a.getAttribute("data-action");
		var items, i, k, from = -1, best = -1;
		state.set = set;
		state.step = a.getAttribute("data-step");
		state.kind = a.getAttribute("data-kind") === "off" ? 2 : 1;
		setView(L > 1 ? L : 0);
		if (!steps.some(function (s) {
			    return s[0] === state.step;
		    })) {
			state.step = "router";
		}
		setSelect.value = String(set);
		stepSelect.value = state.step;
		kindSelect.value = String(state.kind);
		viewSelect.value = String(L > 1 ? L : 0);
		field.value = name;
		state.exact = name;
		draw();
		items = graph.items;
		for (i = 0; i < items.length; i++) {
			if (items[i].d === 2 && items[i].name === action) {
				from = i;
			}
		}
		for (k = Math.max(from, 0); from >= 0 && k < items[from].next; k++) {
			if (items[k].name === name && (best < 0 || items[k].w > items[best].w)) {
				best = k;
			}
		}
		if (from >= 0) {
			graph.zoom(from);
		}
		if (best < 0) {
			field.value = "";
			state.exact = null;
		}
		search();
		document.getElementById("graphs").scrollIntoView();
		panel.focus({ preventScroll: true });
		if (best >= 0 || from >= 0) {
			graph.mark(best >= 0 ? best : from);
		}
	}

	listViews();
	stepSelect = choice("Step", "step", steps, "router", function (v) {
		state.step = v;
	});
	viewSelect = choice("Level", "view", numbered(views.map(function (v) {
		return v.text;
	})), String(L - 1), setView);
	kindSelect = choice("Time", "kind", [ [ "3", "CPU and waiting" ], [ "1", "CPU" ], [ "2", "waiting" ] ],
			    "3", function (v) {
		state.kind = Number(v);
	});
	state.set = Number(sets[0][0]);
	setSelect = choice("Frames", "set", sets, sets[0][0], function (v) {
		state.set = Number(v);
	});
	field = make("input");
	field.type = "search";
	field.id = "search";
	(function () {
		var label = make("label", "", "Search");
		label.appendChild(field);
		controls.appendChild(label);
	})();
	field.addEventListener("input", function () {
		state.exact = null;
		search();
	});
	button("Reset", reset);
	turner = button("Icicle", function () {
		state.flip = !state.flip;
		turner.textContent = state.flip ? "Flame" : "Icicle";
		graph.turn(state.flip);
	});
	line.setAttribute("role", "status");
	tipBox.setAttribute("role", "status");
	tipBox.style.display = "none";
	box.appendChild(controls);
	box.appendChild(line);
	box.appendChild(legend);
	document.body.appendChild(tipBox);
	draw();
	new ResizeObserver(function () {
		graph.draw();
	}).observe(box);
	document.addEventListener("click", function (e) {
		var a = e.target.closest ? e.target.closest("a.frame") : null;
		if (a) {
			e.preventDefault();
			open(a);
		}
	});
	document.addEventListener("keydown", function (e) {
		var el = document.activeElement;
		if (e.key === "/" && !(el && (el.tagName === "INPUT" || el.tagName === "SELECT"))) {
			e.preventDefault();
			field.focus();
		} else if (e.key === "Escape" && el === field) {
			reset();
		}
	});
})
