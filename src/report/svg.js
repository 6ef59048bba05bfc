/* SPDX-License-Identifier: BSD-2-Clause */
/* What the SVG file does once scripts run: the drawing takes the width of the
 * window, and a search field, two buttons and hints appear. See asset.h. */
FRT_ASSET(function (flame) {
	var root = document.documentElement, SVG = "http://www.w3.org/2000/svg";
	var XHTML = "http://www.w3.org/1999/xhtml";
	var tipBox = foreign("0", "0", "340", "10"), tipText = html("div", "tip");
	var bar = foreign("1%", root.getAttribute("data-bar"), "98%", "34");
	var tools = html("div", "tools"), field = html("input", ""), found = html("span", "found");
	var graphs, flipped = root.getAttribute("data-flip") === "1", turner;

	function foreign(x, y, w, h) {
		var el = document.createElementNS(SVG, "foreignObject");
		el.setAttribute("x", x);
		el.setAttribute("y", y);
		el.setAttribute("width", w);
		el.setAttribute("height", h);
		return el;
	}

	function html(name, cls) {
		var el = document.createElementNS(XHTML, name);
		if (cls) {
			el.setAttribute("class", cls);
		}
		return el;
	}

	function button(text, act) {
		var b = html("button", "");
		b.setAttribute("type", "button");
		b.textContent = text;
		b.addEventListener("click", act);
		tools.appendChild(b);
		return b;
	}

	function tip(text, box) {
		var width = root.clientWidth || window.innerWidth, x, y, h, w = Math.min(340, width - 8);
		if (text === null) {
			tipBox.style.display = "none";
			return;
		}
		tipText.textContent = text;
		tipBox.style.display = "";
		tipBox.setAttribute("width", w);
		h = tipText.offsetHeight || 60;
		x = Math.max(4, Math.min(box.left + 10, width - w - 4));
		y = box.bottom + 6;
		if (y + h > window.innerHeight && box.top - h - 6 > 0) {
			y = box.top - h - 6;
		}
		tipBox.setAttribute("x", x - root.getBoundingClientRect().left);
		tipBox.setAttribute("y", y - root.getBoundingClientRect().top);
	}

	function search() {
		var text = [], q = field.value;
		graphs.forEach(function (g) {
			var r = g.search(q);
			text.push(r.share.toFixed(1) + " %");
		});
		found.textContent = q ? "matched " + text.join(" · ") : "";
	}

	function reset() {
		field.value = "";
		graphs.forEach(function (g) {
			g.search("");
			g.zoom(0);
			g.mark(-1);
		});
		search();
	}

	root.removeAttribute("viewBox");
	root.setAttribute("width", "100%");
	graphs = Array.prototype.map.call(document.querySelectorAll(".p"), function (el) {
		return flame(el, tip);
	});
	field.setAttribute("type", "search");
	field.setAttribute("placeholder", "Search");
	field.setAttribute("aria-label", "Search frames");
	field.addEventListener("input", search);
	found.setAttribute("role", "status");
	tools.appendChild(field);
	button("Reset", reset);
	turner = button(flipped ? "Flame" : "Icicle", function () {
		flipped = !flipped;
		graphs.forEach(function (g) {
			g.turn(flipped);
		});
		turner.textContent = flipped ? "Flame" : "Icicle";
	});
	tools.appendChild(found);
	bar.appendChild(tools);
	root.appendChild(bar);
	tipText.setAttribute("role", "status");
	tipBox.setAttribute("style", "overflow:visible;pointer-events:none;display:none");
	tipBox.appendChild(tipText);
	root.appendChild(tipBox);
	graphs.forEach(function (g) {
		g.onzoom(search);
	});
	new ResizeObserver(function () {
		graphs.forEach(function (g) {
			g.draw();
		});
	}).observe(root);
	document.addEventListener("keydown", function (e) {
		if (e.key === "/" && document.activeElement !== field) {
			e.preventDefault();
			field.focus();
		} else if (e.key === "Escape" && document.activeElement === field) {
			reset();
		}
	});
})
