// Non-negative fit of ratios. It turns measured times into coefficients.
#pragma once

#include <vector>

namespace strobe {

/// One measured time, and the amounts whose weighted sum it should be.
struct Observation {
  std::vector<double> amounts;  // [terms], not negative
  double seconds = 0;           // above 0
};

/// Coefficients c >= 0 [terms] that minimise the sum of |log(prediction / time)|, where prediction = sum_j c_j
/// amounts_j. Method: reweighted least squares. An outlier (a call that the machine interrupted) counts by its
/// distance, not by its square. Twice the time and half the time are equally far. The distance |prediction / time - 1|
/// would make predictions too small wherever the terms do not explain the times. Epochs were 5 to 7 % too short for
/// that reason alone.
///
/// Terms that never occur get 0. `most` [terms] are upper bounds of the coefficients. When amounts grow alike, a bound
/// on one term decides the others.
std::vector<double> fit_non_negative(const std::vector<Observation>& observations,
                                     const std::vector<double>& most = {});

/// sum_j c_j amounts_j.
double predicted_seconds(const std::vector<double>& coefficients, const std::vector<double>& amounts);

}  // namespace strobe
