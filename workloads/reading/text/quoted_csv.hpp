// Comma-separated fields that may be quoted, as csv files with names and titles have them (RFC 4180, one row a line).
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/reading/text/text_reader.hpp"

namespace strobe {

/// Splits the lines of a reader; keeps the text of fields that hold quotes.
class QuotedCsv {
 public:
  /// Fields of the current line, valid until the next call. A quoted field may hold commas and "" for a quote. Throws
  /// InvalidInput for a quote that is not closed on its line or is followed by anything but a comma. Blanks around a
  /// field are left out, those within quotes kept.
  const std::vector<Token>& split(const TextReader& reader);

 private:
  std::size_t take_quoted(const TextReader& reader, std::size_t begin);

  std::vector<Token> fields_;
  std::list<std::string> unquoted_;
};

/// `text` as a cell: in quotes, with quotes inside doubled, when it holds a comma, a quote or a line break, or begins
/// or ends with a blank.
std::string csv_cell(std::string_view text);
/// `text` in quotes.
std::string quoted_cell(std::string_view text);

}  // namespace strobe
