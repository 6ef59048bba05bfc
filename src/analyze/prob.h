/* SPDX-License-Identifier: BSD-2-Clause */
/* The distributions that intervals and tests are read from. */
#ifndef FRTRACE_ANALYZE_PROB_H
#define FRTRACE_ANALYZE_PROB_H

/* Regularized incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1. */
double prob__beta_inc(double a, double b, double x);
/* Regularized lower incomplete gamma function P(a, x), a > 0, x >= 0. */
double prob__gamma_inc(double a, double x);

/* P(T <= t), P(F <= f), P(X² <= x). Degrees of freedom need not be whole. */
double prob__t_cdf(double t, double df);
double prob__f_cdf(double f, double df1, double df2);
double prob__chi2_cdf(double x, double df);

/* The t that P(T <= t) = p holds for, 0 < p < 1; NAN for df <= 0. */
double prob__t_quantile(double p, double df);

#endif
