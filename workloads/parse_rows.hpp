// Rows of a text file on several threads.
#pragma once

#include <cstdint>
#include <functional>

#include "workloads/event_builder.hpp"
#include "workloads/text_reader.hpp"

namespace strobe {

/// Reads all lines of the reader it gets and adds their rows to the builder.
using ParseLines = std::function<void(TextReader& lines, EventBuilder& rows)>;

/// Parses the lines behind the reader's current one: cuts the file into parts at line ends and calls `parse` for each,
/// for several at once when there are threads, so it must not change anything that it shares. Rows arrive in `events`
/// in file order. Lines and columns in complaints are the file's; of several complaints the first in the file is
/// thrown. Returns how many lines were read.
std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParseLines& parse);

}  // namespace strobe
