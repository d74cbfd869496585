// Ids that are written like numbers: 7, but also 7.0, 7e0, +7, 007 and 0x7, which a reader must not take for names.
#pragma once

#include <string>
#include <string_view>

#include "workloads/reading/ids/name_table.hpp"

namespace strobe {

/// Whether `text` is digits with a minus before them or not: what ids in a file of numbers look like.
bool is_plain_whole(std::string_view text);

/// Whether `text` is written like a number: with a sign, a point, an exponent, or hexadecimal up to 16 digits (longer
/// ones are addresses and hashes, which are names).
bool is_like_number(std::string_view text);

/// Refuses a file whose names call one number by two words, such as 7 and 7.0, as they would become two vertices.
/// Throws InvalidInput with the line and column of the later word. Columns `first` and `second`, between `separator`s,
/// hold the names.
void refuse_twin_names(const NameTable& names, const std::string& path, std::size_t first, std::size_t second,
                       const std::string& separator = ",");

}  // namespace strobe
