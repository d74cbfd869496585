// Families get numbers in the order of their first mention, while static objects are made and plug-ins are loaded.
#include "backends/numerics.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

namespace strobe {
namespace {

struct Families {
  std::mutex mutex;                       // devices of several ranks look for their names at once
  std::deque<std::string> names{"none"};  // whose elements stay where they are
  std::map<int, std::map<std::string, std::set<std::string>>> variants;

  static Families& instance() {
    static Families families;
    return families;
  }
};

}  // namespace

int Numerics::id_of(std::string_view name) {
  Families& families = Families::instance();
  const std::lock_guard lock(families.mutex);
  const auto place = std::find(families.names.begin(), families.names.end(), name);
  const auto id = static_cast<int>(place - families.names.begin());
  if (place == families.names.end()) families.names.emplace_back(name);
  return id;
}

const std::string& Numerics::name() const {
  Families& families = Families::instance();
  const std::lock_guard lock(families.mutex);
  return families.names[id_];
}

std::map<std::string, std::set<std::string>> kernel_variants(Numerics numerics) {
  Families& families = Families::instance();
  const std::lock_guard lock(families.mutex);
  auto variants = families.variants[numerics.id()];
  for (const auto& [variant, operations] : families.variants[numerics.base().id()])
    variants[variant].insert(operations.begin(), operations.end());
  return variants;
}

void note_kernel(Numerics numerics, const char* variant, std::string_view operation) {
  Families& families = Families::instance();
  const std::lock_guard lock(families.mutex);
  families.variants[numerics.id()][variant].insert(std::string(operation));
}

}  // namespace strobe
