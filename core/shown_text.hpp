// Makes text of unknown origin (file names, arguments, output of other programs) safe to show in a terminal, a table or
// a figure.
#pragma once

#include <string>
#include <string_view>

namespace strobe {

/// Whether every byte belongs to a character of UTF-8.
bool is_utf8(std::string_view text);

/// `text` with control characters and invalid UTF-8 bytes written as \\xNN, so that no name moves a cursor, changes a
/// colour or forges a line of a log. A backslash stays, because people read this text and no program reads it back.
std::string shown_line(std::string_view text);

/// The same for text of several lines: newlines stay.
std::string shown_lines(std::string_view text);

}  // namespace strobe
