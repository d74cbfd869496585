// The strategies of full batches over which tests loop.
#pragma once

#include <string>
#include <vector>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe::test {

/// Their names, without `file`, which needs a file of owners: tests/harness/placement/file_strategy_test.cpp.
inline std::vector<std::string> full_batch_strategies() {
  std::vector<std::string> names = names_with<StrategyTag>(&StrategyTag::Value::schedule, "full_batch");
  std::erase(names, "file");
  return names;
}

}  // namespace strobe::test
