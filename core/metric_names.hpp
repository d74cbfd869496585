// Names of metrics: the usual one of a task, and whether smaller values are better.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// Among `names` (without prefixes): mrr, else auc, accuracy, f1_micro, rmse, else the first; "" without names. Ranking
/// and the area under the curve come first because accuracy says little about pairs and rare labels.
std::string usual_metric(const std::vector<std::string>& names);

/// Whether smaller values of a metric are better: true for losses and errors (loss, rmse, mae, ...), false for others.
bool smaller_is_better(const std::string& metric);

}  // namespace strobe
