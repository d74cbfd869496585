#include "models/tasks/usual_metric.hpp"

#include <algorithm>

namespace strobe {

std::string usual_metric(const std::vector<std::string>& names) {
  for (const char* usual : {"mrr", "auc", "accuracy", "f1_micro", "rmse"})
    if (std::find(names.begin(), names.end(), usual) != names.end()) return usual;
  return names.empty() ? "" : names.front();
}

}  // namespace strobe
