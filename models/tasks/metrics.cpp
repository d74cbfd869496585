#include "models/tasks/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

bool any_nan(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// Positions in order of falling score.
std::vector<std::size_t> by_falling_score(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

/// The area under the ROC curve of `count` samples whose scores fall; score(i), and whether sample i has label 1.
template <class Score, class IsPositive>
double area_of_falling(std::size_t count, const Score& score, const IsPositive& is_positive) {
  double rank_sum = 0;
  std::int64_t positives = 0;
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i;
    while (end < count && score(end) == score(i)) ++end;
    const double mean_rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2.0;
    for (; i < end; ++i) {
      if (!is_positive(i)) continue;
      rank_sum += static_cast<double>(count) + 1.0 - mean_rank;  // ranks count from the lowest score
      ++positives;
    }
  }
  const double p = static_cast<double>(positives), n = static_cast<double>(count) - p;
  if (p == 0 || n == 0) return missing;
  return (rank_sum - p * (p + 1) / 2.0) / (p * n);
}

/// The average precision of the same, with `positives` of label 1.
template <class Score, class IsPositive>
double precision_of_falling(std::size_t count, double positives, const Score& score, const IsPositive& is_positive) {
  double found = 0, sum = 0;
  for (std::size_t i = 0; i < count;) {
    const auto threshold = score(i);
    double here = 0;
    for (; i < count && score(i) == threshold; ++i) here += is_positive(i) ? 1.0 : 0.0;
    found += here;
    sum += here * found / static_cast<double>(i);
  }
  return sum / positives;
}

}  // namespace

double accuracy(const std::vector<double>& logits, const Column<std::int32_t>& labels, std::int64_t classes) {
  if (labels.empty()) return missing;
  const std::vector<std::int32_t> said = predicted_classes(logits, classes);
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += said[i] == labels[i] ? 1.0 : 0.0;
  return right / static_cast<double>(labels.size());
}

double area_under_roc(const std::vector<double>& scores, const std::vector<std::int32_t>& labels) {
  if (any_nan(scores)) return missing;
  const std::vector<std::size_t> order = by_falling_score(scores);
  return area_of_falling(
      order.size(), [&](std::size_t i) { return scores[order[i]]; },
      [&](std::size_t i) { return labels[order[i]] == 1; });
}

double area_under_roc(std::span<const std::uint64_t> falling) {
  return area_of_falling(
      falling.size(), [&](std::size_t i) { return falling[i] >> 1; },
      [&](std::size_t i) { return falling[i] % 2 == 1; });
}

double average_precision(const std::vector<double>& scores, const std::vector<std::int32_t>& labels) {
  const double positives = std::count(labels.begin(), labels.end(), 1);
  if (any_nan(scores) || positives == 0) return missing;
  const std::vector<std::size_t> order = by_falling_score(scores);
  return precision_of_falling(
      order.size(), positives, [&](std::size_t i) { return scores[order[i]]; },
      [&](std::size_t i) { return labels[order[i]] == 1; });
}

double average_precision(std::span<const std::uint64_t> falling) {
  const auto is_positive = [&](std::size_t i) { return falling[i] % 2 == 1; };
  double positives = 0;
  for (std::size_t i = 0; i < falling.size(); ++i) positives += is_positive(i) ? 1.0 : 0.0;
  if (positives == 0) return missing;
  return precision_of_falling(
      falling.size(), positives, [&](std::size_t i) { return falling[i] >> 1; }, is_positive);
}

double tie_share(TieRule ties) { return ties == TieRule::optimistic ? 0.0 : ties == TieRule::average ? 0.5 : 1.0; }

TieRule tie_rule(const std::string& name) {
  if (name == "optimistic") return TieRule::optimistic;
  if (name == "average") return TieRule::average;
  if (name == "pessimistic") return TieRule::pessimistic;
  throw Error("no tie rule is called '" + name + "'");
}

double mean_reciprocal_rank(const std::vector<double>& positives, const std::vector<double>& candidates,
                            const std::vector<std::int32_t>& candidate_of, TieRule ties) {
  if (positives.empty() || any_nan(positives) || any_nan(candidates)) return missing;
  const double share = tie_share(ties);
  std::vector<double> rank(positives.size(), 1.0);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t of = candidate_of[i];
    if (candidates[i] > positives[of]) rank[of] += 1.0;
    if (candidates[i] == positives[of]) rank[of] += share;
  }
  double sum = 0;
  for (const double r : rank) sum += 1.0 / r;
  return sum / static_cast<double>(rank.size());
}

double chance_of_mean_reciprocal_rank(const std::vector<std::int64_t>& candidates) {
  if (candidates.empty()) return missing;
  const std::int64_t most = *std::max_element(candidates.begin(), candidates.end());
  std::vector<double> harmonic(static_cast<std::size_t>(most) + 2, 0.0);  // H(n)
  for (std::size_t n = 1; n < harmonic.size(); ++n) harmonic[n] = harmonic[n - 1] + 1.0 / static_cast<double>(n);
  double sum = 0;
  for (const std::int64_t k : candidates) sum += harmonic[static_cast<std::size_t>(k) + 1] / static_cast<double>(k + 1);
  return sum / static_cast<double>(candidates.size());
}

bool all_equal(const std::vector<double>& outputs, std::int64_t width) {
  const std::size_t step = width;
  if (step == 0 || outputs.size() < 2 * step) return false;
  for (std::size_t i = step; i < outputs.size(); ++i) {
    if (!(outputs[i] == outputs[i % step])) return false;
  }
  return true;
}

std::vector<std::int32_t> predicted_classes(const std::vector<double>& logits, std::int64_t classes) {
  const std::size_t width = classes;
  std::vector<std::int32_t> predicted(width == 0 ? 0 : logits.size() / width);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double* row = logits.data() + i * width;
    const bool nan = std::any_of(row, row + width, [](double value) { return std::isnan(value); });
    predicted[i] = nan ? -1 : static_cast<std::int32_t>(std::max_element(row, row + width) - row);
  }
  return predicted;
}

double f1_score(const std::vector<std::int32_t>& predicted, const Column<std::int32_t>& labels, std::int32_t positive) {
  double both = 0, either = 0;  // TP, and 2 TP + FP + FN
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool said = predicted[i] == positive, is = labels[i] == positive;
    both += said && is ? 1.0 : 0.0;
    either += (said ? 1.0 : 0.0) + (is ? 1.0 : 0.0);
  }
  return either == 0 ? 0.0 : 2.0 * both / either;
}

double macro_f1(const std::vector<std::int32_t>& predicted, const Column<std::int32_t>& labels, std::int64_t classes) {
  double sum = 0, present = 0;
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(classes); ++c) {
    const bool occurs =
        std::count(labels.begin(), labels.end(), c) + std::count(predicted.begin(), predicted.end(), c) > 0;
    if (!occurs) continue;
    sum += f1_score(predicted, labels, c);
    present += 1.0;
  }
  return present == 0 ? missing : sum / present;
}

double micro_f1(const std::vector<double>& logits, const std::vector<std::int64_t>& sets, std::int64_t classes) {
  if (sets.empty() || any_nan(logits)) return missing;
  double both = 0, either = 0;  // TP, and 2 TP + FP + FN
  auto logit = logits.begin();
  for (const std::int64_t set : sets) {
    for (std::int64_t c = 0; c < classes; ++c) {
      const bool said = *logit++ > 0, is = (static_cast<std::uint64_t>(set) >> c & 1) != 0;
      both += said && is ? 1.0 : 0.0;
      either += (said ? 1.0 : 0.0) + (is ? 1.0 : 0.0);
    }
  }
  return either == 0 ? 0.0 : 2.0 * both / either;
}

RegressionError regression_error(const std::vector<double>& outputs, const Column<double>& targets, bool skip_missing) {
  double squared = 0, absolute = 0, mean = 0, count = 0;
  const auto counts = [&](std::size_t i) { return !skip_missing || !std::isnan(outputs[i]); };
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!counts(i)) continue;
    const double error = outputs[i] - targets[i];
    squared += error * error;
    absolute += std::abs(error);
    mean += targets[i];
    count += 1.0;
  }
  if (count == 0) return {missing, missing, missing};
  mean /= count;
  double deviation = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (counts(i)) deviation += (targets[i] - mean) * (targets[i] - mean);
  }
  return {std::sqrt(squared / count), absolute / count, deviation == 0 ? missing : 1.0 - squared / deviation};
}

}  // namespace strobe
