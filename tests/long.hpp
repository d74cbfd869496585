// Marks the tests that only long runs make (scripts/test --long). A suite or an instantiation whose name begins with
// "Long" is registered under CTest's label `long`, which ordinary runs leave out. docs/contributing/testing.md says what
// that is.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace strobe::test {

/// Whether the running test belongs to long runs alone.
inline bool is_long() {
  return std::string(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()).rfind("Long", 0) == 0;
}

}  // namespace strobe::test
