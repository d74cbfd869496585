// Text of unknown origin (names of files, arguments, words of other programs) as a terminal, a table or a figure may
// show it.
#pragma once

#include <string>
#include <string_view>

namespace strobe {

/// Whether every byte belongs to a character of UTF-8.
bool is_utf8(std::string_view text);

/// `text` with control characters and bytes that are no UTF-8 as \xNN, so that no name moves a cursor, changes a colour
/// or forges a line of a log. A backslash stays as it is: this is for people and not read back.
std::string shown_line(std::string_view text);

/// The same for text of several lines: newlines stay.
std::string shown_lines(std::string_view text);

}  // namespace strobe
