// The files in which a run under a limit of host memory keeps its data.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "workloads/storage/node_store.hpp"

namespace strobe::test {

inline std::shared_ptr<const NodeStore> store_in(const std::string& folder) {
  NodeStoreSetting setting;
  setting.folders = {folder};
  setting.host = "here";
  setting.launch = "limited_store";
  setting.begin_wait = [] { return [] { return true; }; };
  setting.note = [](const std::string& text) { ADD_FAILURE() << text; };
  return std::make_shared<const NodeStore>(std::move(setting));
}

}  // namespace strobe::test
