#include "core/names_elsewhere.hpp"

#include <cctype>

namespace strobe {
std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

namespace {

std::vector<NameElsewhere>& table() {
  static std::vector<NameElsewhere> all;
  return all;
}

}  // namespace

RegisterNames::RegisterNames(const char* kind, std::initializer_list<NameOfOthers> names) {
  for (const NameOfOthers& name : names) table().push_back({kind, name.name, name.here, name.about});
}

const std::vector<NameElsewhere>& names_elsewhere() { return table(); }

const NameElsewhere* name_elsewhere(const std::string& kind, const std::string& name) {
  const std::string plain = plain_name(name);
  for (const NameElsewhere& entry : names_elsewhere())
    if (entry.kind == kind && plain_name(entry.name) == plain) return &entry;
  return nullptr;
}

}  // namespace strobe
