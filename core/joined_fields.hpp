// Joins field tables: a plug-in's own parameters and those that every plug-in of its kind takes.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Joins the fields of all `tables` in their order. An object of the result holds one object of each table. Field names
/// must differ.
FieldTable joined_fields(const std::vector<FieldTable>& tables);

/// The fields of `table` whose names are in `names`, in the table's order. They apply to the same objects.
FieldTable chosen_fields(const FieldTable& table, const std::vector<std::string>& names);

}  // namespace strobe
