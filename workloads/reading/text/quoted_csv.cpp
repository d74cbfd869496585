// Fields without quotes are views on the line; only quoted ones are copied. Cost: one pass over the line.
#include "workloads/reading/text/quoted_csv.hpp"

#include <algorithm>

#include "workloads/reading/text/blanks.hpp"

namespace strobe {

/// The field whose opening quote is at `begin`; returns the position behind its closing quote.
std::size_t QuotedCsv::take_quoted(const TextReader& reader, std::size_t begin) {
  const std::string_view line = reader.line();
  std::string& text = unquoted_.emplace_back();
  for (std::size_t i = begin + 1; i < line.size(); ++i) {
    if (line[i] != '"') {
      text += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '"') {
      text += line[i++];
    } else {
      std::uint64_t blanks = 0;
      const std::string_view rest = without_blanks_before(line.substr(i + 1), &blanks);
      if (!rest.empty() && rest.front() != ',') reader.fail(i + 2, "a comma is missing behind the quote");
      fields_.push_back({text, begin + 1});
      return i + 1 + blanks;
    }
  }
  reader.fail(begin + 1, "the quote is not closed on its line");
}

const std::vector<Token>& QuotedCsv::split(const TextReader& reader) {
  fields_.clear();
  unquoted_.clear();
  const std::string_view line = reader.line();
  for (std::size_t begin = 0;; ++begin) {
    std::uint64_t blanks = 0;
    without_blanks_before(line.substr(begin), &blanks);
    begin += blanks;
    if (begin < line.size() && line[begin] == '"') {
      begin = take_quoted(reader, begin);
    } else {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      fields_.push_back({without_blanks_behind(line.substr(begin, end - begin)), begin + 1});
      begin = end;
    }
    if (begin >= line.size()) return fields_;
  }
}

std::string quoted_cell(std::string_view text) {
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + "\"";
}

std::string csv_cell(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  const bool quotes = text.find_first_of(",\"\r\n") != std::string_view::npos ||
                      (!text.empty() && (blank(text.front()) || blank(text.back())));
  return quotes ? quoted_cell(text) : std::string(text);
}

}  // namespace strobe
