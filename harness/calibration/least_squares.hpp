// Non-negative fit of ratios: how measured times become coefficients.
#pragma once

#include <vector>

namespace strobe {

/// One measured time and the amounts that it should be a sum over.
struct Observation {
  std::vector<double> amounts;  // [terms], not negative
  double seconds = 0;           // above 0
};

/// Coefficients c >= 0 [terms] for which sum_j c_j amounts_j comes closest to the observed times in the sense of the
/// sum of |log(prediction / time)|, by reweighted least squares: an outlier (a call that the machine interrupted) has
/// the pull of its distance, not of its square, and twice and half the time are equally far. By |prediction / time - 1|
/// half would be nearer than twice, and whatever no sum of these terms explains would be taken from below: epochs were
/// 5 to 7 % too short for that reason alone. Terms that never occur get 0. With `most` [terms] no coefficient is above
/// its entry there: where amounts grow alike, what is known of one term decides for the others.
std::vector<double> fit_non_negative(const std::vector<Observation>& observations,
                                     const std::vector<double>& most = {});

/// sum_j c_j amounts_j.
double predicted_seconds(const std::vector<double>& coefficients, const std::vector<double>& amounts);

}  // namespace strobe
