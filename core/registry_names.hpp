// Lists the registered plug-ins that have one trait, for `strobe list` and for tests over registries.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/registry.hpp"

namespace strobe {

/// Names of the plug-ins whose value has `wanted` in `member`, sorted: names_with<ModelTag>(&ModelTag::Value::family,
/// "snapshots").
template <class Tag, class Member>
std::vector<std::string> names_with(Member Tag::Value::*member, const std::type_identity_t<Member>& wanted) {
  std::vector<std::string> result;
  for (const auto& [name, entry] : Registry<Tag>::instance().entries()) {
    if (entry.value.*member == wanted) result.push_back(name);
  }
  return result;
}

}  // namespace strobe
