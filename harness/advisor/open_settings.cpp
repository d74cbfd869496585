#include "harness/advisor/open_settings.hpp"

#include <algorithm>

#include "harness/request/case.hpp"
#include "harness/request/schedule_tag.hpp"

namespace strobe {

Shortens shortened_by(const std::string& setting) {
  if (setting == "inputs" || setting == "transfer") return Shortens::copies;
  if (setting == "overlap") return Shortens::exchanges;
  return Shortens::anything;
}

std::vector<OpenSetting> searched_settings(bool full_batch, bool sizes_only) {
  const std::vector<std::string>& without = full_batch ? never_full_batch() : full_batch_only();
  std::vector<OpenSetting> all;
  for (const Field& field : case_fields().fields()) {
    if (!field.searched || std::find(without.begin(), without.end(), field.name) != without.end()) continue;
    std::vector<std::string> values = field.searched(sizes_only);
    if (values.size() > 1) all.push_back({field.name, std::move(values)});
  }
  return all;
}

}  // namespace strobe
