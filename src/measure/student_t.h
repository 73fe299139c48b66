// Student's t distribution: what the mean of a few normal samples can do by chance.
#pragma once

namespace wavefill {

// I_x(a, b), the regularised incomplete beta function. Preconditions: a, b > 0; 0 <= x <= 1.
double regularised_incomplete_beta(double a, double b, double x);

// The chance of a value at least as far from 0 as t. Precondition: degrees of freedom > 0; they need not be
// whole.
double student_t_p(double t, double degrees);

// The t >= 0 beyond which, on either side, values have the chance p: student_t_p(t, degrees) == p.
// Preconditions: 0 < p < 1, degrees > 0.
double student_t_quantile(double p, double degrees);

}  // namespace wavefill
