// The metric by which models of a task are usually compared.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// Among `names` (without prefixes): mrr, else auc, accuracy, f1_micro, rmse, else the first; "" without names. Ranking
/// and the area under the curve come first because accuracy says little about pairs and rare labels.
std::string usual_metric(const std::vector<std::string>& names);

}  // namespace strobe
