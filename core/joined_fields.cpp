// Each field reads and writes the part of the object that its own table made. Cost: a copy of every field.
#include "core/joined_fields.hpp"

#include <algorithm>

namespace strobe {
namespace {

/// The objects that the fields of a joined table read and write, one for each table.
using JoinedParts = std::vector<std::shared_ptr<void>>;

void* part_of(const void* object, std::size_t part) { return (*static_cast<const JoinedParts*>(object))[part].get(); }

}  // namespace

FieldTable joined_fields(const std::vector<FieldTable>& tables) {
  std::vector<std::function<std::shared_ptr<void>()>> makers;
  for (const FieldTable& table : tables) makers.push_back(table.make_default);
  const auto make = [makers] {
    const auto parts = std::make_shared<JoinedParts>();
    for (const auto& maker : makers) parts->push_back(maker ? maker() : nullptr);
    return std::static_pointer_cast<void>(parts);
  };
  const std::shared_ptr<void> defaults = make();
  FieldTable joined;
  for (std::size_t part = 0; part < tables.size(); ++part) {
    for (Field field : tables[part].fields()) {
      field.get = [get = field.get, part](const void* object) { return get(part_of(object, part)); };
      field.set = [set = field.set, part](void* object, const FieldValue& value) { set(part_of(object, part), value); };
      joined.add(std::move(field), defaults.get());
    }
  }
  joined.make_default = make;
  return joined;
}

FieldTable chosen_fields(const FieldTable& table, const std::vector<std::string>& names) {
  const std::shared_ptr<void> defaults = table.make_default();
  FieldTable chosen;
  for (const Field& field : table.fields()) {
    if (std::find(names.begin(), names.end(), field.name) != names.end()) chosen.add(field, defaults.get());
  }
  chosen.make_default = table.make_default;
  return chosen;
}

}  // namespace strobe
