// The outer form of a text table: what separates its columns, which lines are comments, and where its header is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strobe {

/// Bytes of a file's beginning that its reading is chosen from.
inline constexpr std::size_t probed_bytes = std::size_t{1} << 16;

/// Found by `look_at_table`. Lines are numbered from 1.
struct TableLayout {
  std::string separator;           // ",", "\t", ";", "|", "::", or " " for runs of spaces and tabs
  std::string comment;             // what lines before the rows begin with that are none: "#", "%", "//", or ""
  std::uint64_t header_line = 0;   // 0 = the file has no header
  bool header_in_comment = false;  // the header comes after `comment`
  std::uint64_t lines_before = 0;  // of the first row
  std::vector<std::string> names;  // of the header; empty without one
  std::size_t columns = 0;
  std::vector<std::vector<std::string>> rows;  // the first ones, as cells [columns]
  std::string doubt;                           // a reason for which the rows may not be what they seem; "" = none

  /// The name of a column, or "column 3".
  std::string name(std::size_t column) const;
};

/// Looks at the beginning of a text file. `whole` says that it is the whole file, so that its last line counts. Returns
/// nothing when its lines have no common form with at least two columns.
std::optional<TableLayout> look_at_table(std::string_view head, bool whole);

/// "commas", "tabs", "semicolons", "blanks" and so on.
std::string separator_name(const std::string& separator);

}  // namespace strobe
