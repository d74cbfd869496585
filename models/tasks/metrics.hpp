// Metrics of tasks, from host values. A score that is not a number makes every metric of scores NaN: a comparison with
// it would otherwise pass for a good rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/storage/column.hpp"

namespace strobe {

/// Share of samples whose predicted class (predicted_classes) is their label, so that accuracy and F1 speak of the same
/// prediction. NaN without samples.
double accuracy(const std::vector<double>& logits, const Column<std::int32_t>& labels, std::int64_t classes);

/// Area under the ROC curve of `scores` for label 1 against 0, ties counted one half (Mann-Whitney). NaN when a class
/// is missing.
double area_under_roc(const std::vector<double>& scores, const std::vector<std::int32_t>& labels);

/// Average precision of `scores` for label 1: sum over thresholds of (recall - recall before) * precision, equal scores
/// being one threshold (no interpolation). NaN without a positive.
double average_precision(const std::vector<double>& scores, const std::vector<std::int32_t>& labels);

/// A whole score below 2^63 and its label, in a number that ascends with the score.
inline std::uint64_t scored_label(std::uint64_t score, bool label) { return score << 1 | (label ? 1U : 0U); }

/// The same of scored labels, which must fall. They take no memory.
double area_under_roc(std::span<const std::uint64_t> falling);
double average_precision(std::span<const std::uint64_t> falling);

/// The rank of a positive among candidates of equal score: before them, in their middle, or after them.
enum class TieRule { optimistic, average, pessimistic };

/// "optimistic", "average" or "pessimistic"; throws Error for another word.
TieRule tie_rule(const std::string& name);

/// How much of a candidate of equal score a rank counts: 0, 1/2 or 1.
double tie_share(TieRule ties);

/// The expected `mean_reciprocal_rank` of scores that are random and distinct, from the number of candidates of each
/// positive. The rank among k candidates is uniform on 1 .. k + 1, so it is the mean of H(k + 1) / (k + 1), H being the
/// harmonic number. NaN without a positive.
double chance_of_mean_reciprocal_rank(const std::vector<std::int64_t>& candidates);

/// Whether several samples all have the same output [n, width]: such a network has learnt nothing.
bool all_equal(const std::vector<double>& outputs, std::int64_t width);

/// Mean over positives of 1 / rank, rank = 1 + (candidates that score higher) + 0, 1/2 or 1 times (candidates of equal
/// score). `candidate_of[i]` is the positive that candidate i competes with. NaN without a positive.
double mean_reciprocal_rank(const std::vector<double>& positives, const std::vector<double>& candidates,
                            const std::vector<std::int32_t>& candidate_of, TieRule ties);

/// The class of each sample: its largest logit [n, classes], the smallest class among equals, as argmax of PyTorch and
/// NumPy has it; -1 where a logit is NaN.
std::vector<std::int32_t> predicted_classes(const std::vector<double>& logits, std::int64_t classes);

/// F1 of class `positive`: 2 TP / (2 TP + FP + FN); 0 when there is neither a sample nor a prediction of it.
double f1_score(const std::vector<std::int32_t>& predicted, const Column<std::int32_t>& labels, std::int32_t positive);

/// Unweighted mean of the F1 of all classes that occur in `labels` or `predicted`. NaN without samples.
double macro_f1(const std::vector<std::int32_t>& predicted, const Column<std::int32_t>& labels, std::int64_t classes);

/// F1-micro of samples that may have several classes each: 2 TP / (2 TP + FP + FN) over all pairs of a sample and a
/// class. A class is predicted where its logit [n, classes] is above 0. It is true where bit c of the sample's `sets`
/// is set. 0 when nothing is predicted or true; NaN without samples or when a logit is NaN.
double micro_f1(const std::vector<double>& logits, const std::vector<std::int64_t>& sets, std::int64_t classes);

/// Errors of a regression.
struct RegressionError {
  double rmse = 0;  // root of the mean squared error
  double mae = 0;   // mean absolute error
  double r2 = 0;    // 1 - squared error / squared deviation from the targets' mean; NaN when the targets are constant
};

/// Errors of `outputs` against `targets`, over the samples whose output is a number when `skip_missing`. NaN without
/// any.
RegressionError regression_error(const std::vector<double>& outputs, const Column<double>& targets,
                                 bool skip_missing = false);

}  // namespace strobe
