// Returns equal views for equal texts. Cost: O(log texts) and a lock.
#include "core/kept_text.hpp"

#include <mutex>
#include <set>

namespace strobe {

std::string_view kept_text(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> kept;
  const std::lock_guard lock(mutex);
  const auto found = kept.find(text);
  return found != kept.end() ? *found : *kept.emplace(text).first;
}

}  // namespace strobe
