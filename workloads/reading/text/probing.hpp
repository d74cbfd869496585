// Input of the probes of text formats: the first bytes of a file, cut into lines and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/reading/text/text_reader.hpp"

namespace strobe {

/// The first line of `head` without its end and without a byte order mark.
std::string_view first_line(std::string_view head);

/// Up to `most` lines that are no comments (lines that begin with one of `comments`), without their ends. A last line
/// without an end is left out when there are others, because `head` may have cut it.
std::vector<std::string_view> data_lines(std::string_view head, std::string_view comments, std::size_t most);

/// The fields of a line as numbers: between commas when there is one, else between blanks. Empty when a field is no
/// finite number.
std::vector<double> line_numbers(std::string_view line);

/// The column to report for a row with a wrong number of fields: the first field beyond `most`, or the place after the
/// line's end when some are missing. 1-based.
std::uint64_t misplaced_column(std::string_view line, const std::vector<Token>& fields, std::size_t most);

/// The file's name ends in `suffix`, or in `suffix` and .gz.
bool has_suffix(std::string_view name, std::string_view suffix);

}  // namespace strobe
