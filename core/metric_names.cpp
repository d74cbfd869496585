#include "core/metric_names.hpp"

#include <algorithm>
#include <array>

namespace strobe {

std::string usual_metric(const std::vector<std::string>& names) {
  for (const char* usual : {"mrr", "auc", "accuracy", "f1_micro", "rmse"})
    if (std::find(names.begin(), names.end(), usual) != names.end()) return usual;
  return names.empty() ? "" : names.front();
}

bool smaller_is_better(const std::string& metric) {
  const std::string last = metric.substr(metric.rfind('_') + 1);  // "last_value_rmse" ends in its error, rmse
  constexpr std::array errors = {"loss", "rmse", "mae", "mse", "mape", "error"};
  return std::find(errors.begin(), errors.end(), last) != errors.end();
}

}  // namespace strobe
