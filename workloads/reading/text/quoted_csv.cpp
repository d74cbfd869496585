// Fields without quotes are views on the line; only quoted ones are copied. Cost: one pass over the line.
#include "workloads/reading/text/quoted_csv.hpp"

#include <algorithm>

#include "workloads/reading/text/blanks.hpp"

namespace strobe {

/// The position after the blanks at `begin`; a separator is no blank.
std::size_t QuotedCsv::skip_blanks(std::string_view line, std::size_t begin) const {
  if (separator_ == "\t") return std::min(line.find_first_not_of(' ', begin), line.size());
  std::uint64_t blanks = 0;
  without_blanks_before(line.substr(begin), &blanks);
  return begin + blanks;
}

/// The field whose opening quote is at `begin`; returns the position after its closing quote.
std::size_t QuotedCsv::take_quoted(std::string_view line, std::size_t begin) {
  const auto wrong = [&](std::uint64_t column, const char* what) {
    fault_ = what, fault_column_ = column;
    return line.size();
  };
  std::string& text = unquoted_.emplace_back();
  for (std::size_t i = begin + 1; i < line.size(); ++i) {
    if (line[i] != '"') {
      text += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '"') {
      text += line[i++];
    } else {
      const std::size_t end = skip_blanks(line, i + 1);
      if (end < line.size() && !line.substr(end).starts_with(separator_))
        return wrong(
            i + 2, separator_ == "," ? "a comma is missing after the quote" : "a separator is missing after the quote");
      fields_.push_back({text, begin + 1});
      return end;
    }
  }
  return wrong(begin + 1, "the quote is not closed on its line");
}

void QuotedCsv::split_bare(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  for (std::size_t begin = line.find_first_not_of(blanks); begin < line.size();) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    fields_.push_back({line.substr(begin, end - begin), begin + 1});
    begin = line.find_first_not_of(blanks, end);
  }
}

bool QuotedCsv::split_line(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  fault_ = nullptr;
  if (separator_ == " ") {
    split_bare(line);
    return true;
  }
  for (std::size_t begin = 0;; begin += separator_.size()) {
    begin = skip_blanks(line, begin);
    if (begin < line.size() && line[begin] == '"') {
      begin = take_quoted(line, begin);
      if (fault_ != nullptr) return false;
    } else {
      const std::size_t end = std::min(line.find(separator_, begin), line.size());
      fields_.push_back({without_trailing_blanks(line.substr(begin, end - begin)), begin + 1});
      begin = end;
    }
    if (begin >= line.size()) return true;
  }
}

const std::vector<Token>& QuotedCsv::split(const TextReader& reader) {
  if (!split_line(reader.line())) reader.fail(fault_column_, fault_);
  return fields_;
}

const std::vector<Token>* QuotedCsv::try_split(std::string_view line) { return split_line(line) ? &fields_ : nullptr; }

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
