// Field tables made of others: what a plug-in has together with what every plug-in of its kind is given.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// The fields of all `tables` as one table, in their order. Its objects hold one object of each; names must differ.
FieldTable joined_fields(const std::vector<FieldTable>& tables);

/// The fields of `table` that are among `names`, in the table's order; for the same objects.
FieldTable chosen_fields(const FieldTable& table, const std::vector<std::string>& names);

}  // namespace strobe
