// The conformance suite as parameters of tests: every operation, kernel variant and precision of one numerics.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/operations/operations.hpp"

namespace strobe {

struct Setting {
  conformance::OperationFamily family;
  std::string variant;
  ElementType precision;
};

inline std::vector<Setting> settings(Numerics numerics) {
  std::vector<Setting> all;
  for (const conformance::OperationFamily& family : conformance::operation_families()) {
    for (const std::string& variant : family.variants(numerics)) {
      for (const ElementType precision : {ElementType::f32, ElementType::f64})
        all.push_back({family, variant, precision});
    }
  }
  return all;
}

inline std::string setting_name(const testing::TestParamInfo<Setting>& parameter) {
  std::string name = parameter.param.family.operation + "_" + parameter.param.variant +
                     (parameter.param.precision == ElementType::f32 ? "_fp32" : "_fp64");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Runs the setting's cases on `device` with each number of threads; a few wrong cases are enough to tell.
inline void expect_agreement(const Setting& setting, const std::string& device,
                             const std::vector<int>& threads = {1, 2}) {
  ASSERT_FALSE(setting.family.cases->empty());
  int wrong_cases = 0;
  for (const conformance::OperationCase& one : *setting.family.cases) {
    for (const std::string& wrong : conformance::check(one, device, setting.precision, setting.variant, threads)) {
      ADD_FAILURE() << wrong;
      ++wrong_cases;
    }
    if (wrong_cases > 5) break;
  }
}

inline void expect_plain_kernels(Numerics numerics) {
  const std::vector<conformance::OperationFamily> families = conformance::operation_families();
  EXPECT_GE(families.size(), 15u);
  for (const conformance::OperationFamily& family : families) {
    const std::vector<std::string> variants = family.variants(numerics);
    EXPECT_EQ(std::count(variants.begin(), variants.end(), "plain"), 1) << family.operation;
  }
}

/// Every kernel of an operation but its judge is chosen without being named, by some case or by one of `elsewhere`
/// (OPERATION/VARIANT): what nothing chooses has no reason to be there. The judge is the one kernel of priority 0
/// (backends/kernel.hpp), which a better one may always replace; the others lie above it.
inline void expect_chosen_kernels(Numerics numerics, const std::string& device,
                                  const std::set<std::string>& elsewhere) {
  for (const conformance::OperationFamily& family : conformance::operation_families()) {
    const std::set<std::string> chosen = conformance::chosen_variants(family, numerics, device);
    int judges = 0;
    for (const auto& [variant, priority] : family.priorities(numerics)) {
      const std::string name = family.operation + "/" + variant;
      EXPECT_GE(priority, 0) << name << " lies below the judge: nothing chooses it";
      if (priority == 0) {
        ++judges;
      } else {
        EXPECT_TRUE(chosen.contains(variant) || elsewhere.contains(name))
            << name << " is chosen by nothing: add the case that chooses it, or leave it out";
      }
    }
    EXPECT_EQ(judges, 1) << family.operation;
  }
}

}  // namespace strobe
