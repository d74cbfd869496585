// Comma-separated fields that may be quoted, as csv files with names and titles have them (RFC 4180, one row a line).
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/reading/text/text_reader.hpp"

namespace strobe {

/// Splits lines; keeps the text of fields that hold quotes.
class QuotedCsv {
 public:
  /// Fields lie between `separator`s, such as "\t" or "::"; " " means runs of spaces and tabs.
  explicit QuotedCsv(std::string separator = ",") : separator_(std::move(separator)) {}

  /// Fields of the current line, valid until the next call. A quoted field may hold commas and "" for a quote. Throws
  /// InvalidInput for a quote that is not closed on its line or is followed by anything but a comma. Blanks around a
  /// field are left out, those within quotes kept.
  const std::vector<Token>& split(const TextReader& reader);
  /// The same for a line of no reader; null for a quote that is wrong.
  const std::vector<Token>* try_split(std::string_view line);

 private:
  std::size_t skip_blanks(std::string_view line, std::size_t begin) const;
  void split_bare(std::string_view line);
  bool split_line(std::string_view line);
  std::size_t take_quoted(std::string_view line, std::size_t begin);

  std::string separator_;
  const char* fault_ = nullptr;  // what is wrong with a quote
  std::uint64_t fault_column_ = 0;
  std::vector<Token> fields_;
  std::list<std::string> unquoted_;
};

/// `text` as a cell: in quotes, with quotes inside doubled, when it holds a comma, a quote or a line break, or begins
/// or ends with a blank.
std::string csv_cell(std::string_view text);
/// `text` in quotes.
std::string quoted_cell(std::string_view text);

}  // namespace strobe
