/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyze/fit.h"

#include "analyze/prob.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_MAX_POINTS 256
#define FIT_ALPHA 0.01

int fit__wls(const double *x, const double *y, const double *w, size_t n, size_t p, double *coef,
	     double cov[FIT_MAX_TERMS][FIT_MAX_TERMS], double *rss)
{
	double r[FIT_MAX_TERMS][FIT_MAX_TERMS] = { 0 }, inv[FIT_MAX_TERMS][FIT_MAX_TERMS] = { 0 };
	double c[FIT_MAX_TERMS] = { 0 };
	double *q, *z;
	int err = 0;

	if (!p || p > FIT_MAX_TERMS || n < p)
		return -EINVAL;
	q = calloc(n * (p + 1), sizeof(*q));
	if (!q)
		return -ENOMEM;
	z = q + n * p;
	for (size_t i = 0; i < n; i++) {
		double s = w ? sqrt(w[i]) : 1;

		for (size_t j = 0; j < p; j++)
			q[i * p + j] = x[i * p + j] * s;
		z[i] = y[i] * s;
	}
	for (size_t j = 0; j < p; j++) {
		double before = 0, norm = 0;

		for (size_t i = 0; i < n; i++)
			before += q[i * p + j] * q[i * p + j];
		/* twice is enough: the second pass removes what rounding left */
		for (int pass = 0; pass < 2; pass++)
			for (size_t k = 0; k < j; k++) {
				double dot = 0;

				for (size_t i = 0; i < n; i++)
					dot += q[i * p + k] * q[i * p + j];
				r[k][j] += dot;
				for (size_t i = 0; i < n; i++)
					q[i * p + j] -= dot * q[i * p + k];
			}
		for (size_t i = 0; i < n; i++)
			norm += q[i * p + j] * q[i * p + j];
		if (!(norm > before * 1e-24)) {
			err = -EDOM;
			goto out;
		}
		r[j][j] = sqrt(norm);
		for (size_t i = 0; i < n; i++) {
			q[i * p + j] /= r[j][j];
			c[j] += q[i * p + j] * z[i];
		}
		for (size_t i = 0; i < n; i++)
			z[i] -= c[j] * q[i * p + j];
	}
	*rss = 0;
	for (size_t i = 0; i < n; i++)
		*rss += z[i] * z[i];
	for (size_t j = p; j-- > 0;) {
		coef[j] = c[j];
		for (size_t k = j + 1; k < p; k++)
			coef[j] -= r[j][k] * coef[k];
		coef[j] /= r[j][j];
	}
	for (size_t j = 0; j < p; j++) { /* inverse of the triangle, column by column */
		inv[j][j] = 1 / r[j][j];
		for (size_t i = j; i-- > 0;) {
			for (size_t k = i + 1; k <= j; k++)
				inv[i][j] -= r[i][k] * inv[k][j];
			inv[i][j] /= r[i][i];
		}
	}
	for (size_t i = 0; i < p; i++)
		for (size_t j = 0; j < p; j++) {
			cov[i][j] = 0;
			for (size_t k = 0; k < p; k++)
				cov[i][j] += inv[i][k] * inv[j][k];
		}
out:
	free(q);
	return err;
}

/* Terms of the model at x; x is scaled by the highest level beforehand so that
 * the columns are of one size. Returns how many. */
static size_t fit_terms(enum fit_model m, double x, double *t)
{
	t[0] = 1;
	switch (m) {
	case FIT_CONST:
		return 1;
	case FIT_LINE:
		t[1] = x;
		return 2;
	case FIT_SQUARE:
		t[1] = x;
		t[2] = x * x;
		return 3;
	case FIT_ROOTLINE:
		t[1] = x;
		t[2] = sqrt(x);
		return 3;
	case FIT_ROOT:
		t[1] = sqrt(x);
		return 2;
	}
	return 0;
}

struct trial {
	size_t p;
	double coef[FIT_MAX_TERMS], cov[FIT_MAX_TERMS][FIT_MAX_TERMS], chi2;
	bool ok;
};

static struct trial try_model(enum fit_model m, const struct fit_point *v, const double *w,
			      size_t n, double xmax)
{
	double x[FIT_MAX_POINTS * FIT_MAX_TERMS], y[FIT_MAX_POINTS], t[FIT_MAX_TERMS];
	struct trial r = { 0 };

	for (size_t i = 0; i < n; i++) {
		r.p = fit_terms(m, v[i].x / xmax, t);
		memcpy(x + i * r.p, t, r.p * sizeof(*t));
		y[i] = v[i].y.mean;
	}
	r.ok = fit__wls(x, y, w, n, r.p, r.coef, r.cov, &r.chi2) == 0;
	return r;
}

/* Does the richer model explain so much more that chance is rejected? Weights
 * are 1 / estimated variance, so the gain in chi² is F(1, df) under the null. */
static bool better(const struct trial *simple, const struct trial *rich, double df)
{
	double gain = simple->chi2 - rich->chi2;

	return simple->ok && rich->ok && 1 - prob__f_cdf(gain, 1, df) < FIT_ALPHA;
}

static void adopt(struct fit *f, enum fit_model m, const struct trial *t, const char *shape,
		  size_t n)
{
	f->model = m;
	f->shape = shape;
	f->terms = t->p;
	memcpy(f->coef, t->coef, sizeof(f->coef));
	memcpy(f->cov, t->cov, sizeof(f->cov));
	if (n > t->p) {
		double per = t->chi2 / (double)(n - t->p);

		f->lack_p = 1 - prob__f_cdf(per, (double)(n - t->p), f->df);
		/* what the model misses is uncertainty too (Birge's ratio) */
		f->widen = per > 1 ? per : 1;
	}
}

static void choose_model(struct fit *f, const struct fit_point *v, const double *w, size_t n)
{
	struct trial flat = try_model(FIT_CONST, v, w, n, f->xmax);
	struct trial line = try_model(FIT_LINE, v, w, n, f->xmax);
	struct trial square = try_model(FIT_SQUARE, v, w, n, f->xmax);
	struct trial root;
	double rise;

	if (better(&line, &square, f->df)) {
		/* the way from the first level to the last says which side the bend is on */
		rise = square.coef[1] * (v[n - 1].x - v[0].x) / f->xmax +
		       square.coef[2] * (v[n - 1].x * v[n - 1].x - v[0].x * v[0].x) /
			       (f->xmax * f->xmax);
		if (square.coef[2] * rise > 0) {
			adopt(f, FIT_SQUARE, &square, "superlinear", n);
			return;
		}
		/* A falling parabola predicts nonsense; a root flattens out. */
		root = try_model(FIT_ROOTLINE, v, w, n, f->xmax);
		if (root.ok && root.coef[1] * rise >= 0 && root.coef[2] * rise >= 0) {
			adopt(f, FIT_ROOTLINE, &root, "sublinear", n);
			return;
		}
		root = try_model(FIT_ROOT, v, w, n, f->xmax);
		adopt(f, FIT_ROOT, &root, "sublinear", n);
		return;
	}
	if (better(&flat, &line, f->df)) {
		adopt(f, FIT_LINE, &line, "linear", n);
		return;
	}
	adopt(f, FIT_CONST, &flat, "constant", n);
	f->b = 0;
	f->a = flat.coef[0];
}

void fit__points(const struct fit_point *v, size_t n, struct fit *out)
{
	double w[FIT_MAX_POINTS], least = 0;
	struct trial line;
	bool weighted = true;

	*out = (struct fit){ .shape = "unknown",
			     .a = NAN,
			     .b = NAN,
			     .lack_p = NAN,
			     .df = NAN,
			     .widen = 1,
			     .var_last = NAN };
	if (n > FIT_MAX_POINTS)
		n = FIT_MAX_POINTS;
	if (!n)
		return;
	out->xmax = v[n - 1].x > 0 ? v[n - 1].x : 1;
	out->var_last = v[n - 1].y.var;
	out->df = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(v[i].y.var))
			weighted = false;
		else
			least = fmax(least, v[i].y.var);
		out->df += v[i].y.df;
	}
	/* a level without any spread would have infinite weight */
	for (size_t i = 0; i < n; i++)
		w[i] = weighted && least > 0 ? 1 / fmax(v[i].y.var, least * 1e-6) : 1;
	line = try_model(FIT_LINE, v, w, n, out->xmax);
	if (n < 2 || !line.ok) {
		out->a = v[0].y.mean;
		return;
	}
	out->a = line.coef[0];
	out->b = line.coef[1] / out->xmax;
	if (n > 2 && weighted && least > 0) {
		choose_model(out, v, w, n);
		return;
	}
	adopt(out, FIT_LINE, &line, "unknown", n);
	out->lack_p = NAN;
	if (!weighted)
		out->df = NAN;
	else if (!(least > 0))
		memset(out->cov, 0, sizeof(out->cov));
}

void fit__predict(const struct fit *f, double x, double *ns, double *lo, double *hi, bool *refused)
{
	double t[FIT_MAX_TERMS], var = 0, half;

	*ns = *lo = *hi = NAN;
	*refused = x > 5 * f->xmax;
	if (*refused || !f->terms)
		return;
	fit_terms(f->model, x / f->xmax, t);
	*ns = 0;
	for (size_t i = 0; i < f->terms; i++) {
		*ns += t[i] * f->coef[i];
		for (size_t j = 0; j < f->terms; j++)
			var += t[i] * t[j] * f->cov[i][j];
	}
	if (isnan(f->df) || isnan(f->var_last))
		return;
	var = var * f->widen + f->var_last;
	half = var > 0 ? prob__t_quantile(0.975, f->df) * sqrt(var) : 0;
	*lo = *ns - half;
	*hi = *ns + half;
}
