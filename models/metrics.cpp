#include <algorithm>
#include <limits>
#include <numeric>

#include "models/task.hpp"

namespace strobe {

double accuracy(const std::vector<double>& logits, const std::vector<std::int32_t>& labels, std::int64_t classes) {
  if (labels.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::int64_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double* row = logits.data() + i * static_cast<std::size_t>(classes);
    bool largest = true;
    for (std::int64_t c = 0; c < classes; ++c) {
      if (c != labels[i] && !(row[labels[i]] > row[c])) largest = false;
    }
    right += largest ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

double area_under_roc(const std::vector<double>& scores, const std::vector<std::int32_t>& labels) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double rank_sum = 0;
  std::int64_t positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && scores[order[end]] == scores[order[i]]) ++end;
    const double mean_rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2.0;
    for (; i < end; ++i) {
      if (labels[order[i]] != 1) continue;
      rank_sum += mean_rank;
      ++positives;
    }
  }
  const double p = static_cast<double>(positives), n = static_cast<double>(labels.size()) - p;
  if (p == 0 || n == 0) return std::numeric_limits<double>::quiet_NaN();
  return (rank_sum - p * (p + 1) / 2.0) / (p * n);
}

}  // namespace strobe
