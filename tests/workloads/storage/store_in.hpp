// A store of one node in a temporary folder, whose notes fail the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/workloads/support.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe::test {

inline std::shared_ptr<const NodeStore> store_in(const TemporaryFolder& folder) {
  NodeStoreSetting setting;
  setting.folders = {folder.file("cache")};
  setting.host = "host", setting.launch = "launch";
  setting.begin_wait = [] { return [] { return false; }; };
  setting.note = [](const std::string& text) { ADD_FAILURE() << text; };
  return std::make_shared<const NodeStore>(std::move(setting));
}

}  // namespace strobe::test
