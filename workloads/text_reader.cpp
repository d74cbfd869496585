// Lines, fields and numbers of text files. Every number is parsed whole: a field with anything left over is refused.
#include "workloads/text_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr std::size_t first_buffer = std::size_t{1} << 17;
constexpr double year_9999_end = 253402300799.0;  // seconds from 1970 to the last second of the year 9999
constexpr double year_1_begin = -62135596800.0;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Takes the parts of a date off the front of a text.
struct Scanner {
  std::string_view rest;

  bool take(char c) {
    const bool there = !rest.empty() && rest.front() == c;
    rest.remove_prefix(there);
    return there;
  }
  /// A number of exactly `count` digits, -1 when there is none.
  int digits(std::size_t count) {
    const std::string_view text = rest.substr(0, count);
    int value = 0;
    if (text.size() < count || text.find_first_not_of("0123456789") != std::string_view::npos) return -1;
    std::from_chars(text.data(), text.data() + count, value);
    rest.remove_prefix(count);
    return value;
  }
  /// YYYY-MM-DD; sets `seconds` to the beginning of that day.
  bool date(double& seconds) {
    const int year = digits(4);
    bool good = take('-');
    const int month = digits(2);
    good = good && take('-');
    const int day = digits(2);
    if (!good || year < 1 || month < 1 || day < 1) return false;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return false;
    seconds = 86400.0 * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
    return true;
  }
  /// HH:MM:SS[.fraction], added to `seconds`.
  bool time_of_day(double& seconds) {
    const int hour = digits(2);
    bool good = take(':');
    const int minute = digits(2);
    good = good && take(':');
    if (!good || hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    if (rest.empty() || rest.front() < '0' || rest.front() > '9') return false;  // no sign, no nan
    double second = 0;
    const auto [stop, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), second, std::chars_format::fixed);
    if (error != std::errc() || second >= 60) return false;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    seconds += 3600.0 * hour + 60.0 * minute + second;
    return true;
  }
};

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return text.size() > 40 ? result + "..." : result;
}

std::string read_head(const std::string& path, std::size_t size) {
  ByteSource source(path);
  std::string head(size, '\0');
  head.resize(source.read(head.data(), size));
  return head;
}

TextReader::TextReader(const std::string& path) : path_(path), source_(path), buffer_(first_buffer) {}

/// Moves the unread bytes to the front and reads more behind them; the buffer grows when one line fills it.
bool TextReader::refill() {
  if (at_end_) return false;
  if (end_ - begin_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t room = buffer_.size() - end_;
  const std::size_t got = source_.read(buffer_.data() + end_, room);
  at_end_ = got < room;
  end_ += got;
  return got > 0;
}

bool TextReader::next_raw() {
  const char* end = nullptr;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    end = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    if (end != nullptr) break;
    if (end_ - begin_ > longest_line) {
      ++line_number_;
      fail(0, "the line is longer than 1 MiB; is this a text file?");
    }
    if (!refill()) {
      end = buffer_.data() + end_;
      break;
    }
  }
  const char* from = buffer_.data() + begin_;
  if (from == end && begin_ == end_) return false;
  ++line_number_;
  begin_ = std::min(end_, static_cast<std::size_t>(end - buffer_.data()) + 1);
  line_ = std::string_view(from, static_cast<std::size_t>(end - from));
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  return true;
}

bool TextReader::next() {
  const bool first = line_number_ == 0;
  std::uint64_t empty_line = 0;
  while (next_raw()) {
    if (first && line_number_ == 1 && line_.substr(0, 3) == byte_order_mark) line_.remove_prefix(3);
    if (line_.empty()) {
      if (empty_line == 0) empty_line = line_number_;
      continue;
    }
    if (empty_line != 0) throw InvalidInput(path_, empty_line, 0, "the line is empty");
    check_text();
    return true;
  }
  line_ = {};
  return false;
}

void TextReader::check_text() const {
  for (std::size_t i = 0; i < line_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line_[i]);
    if (byte < 0x20 && byte != '\t') fail(i + 1, fmt::format("byte 0x{:02x} is not text; is this a text file?", byte));
  }
}

const std::vector<Token>& TextReader::split_blanks() {
  tokens_.clear();
  for (std::size_t i = 0; i < line_.size();) {
    while (i < line_.size() && is_blank(line_[i])) ++i;
    const std::size_t begin = i;
    while (i < line_.size() && !is_blank(line_[i])) ++i;
    if (i > begin) tokens_.push_back({line_.substr(begin, i - begin), begin + 1});
  }
  return tokens_;
}

const std::vector<Token>& TextReader::split_commas() {
  tokens_.clear();
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(line_.find(',', begin), line_.size());
    tokens_.push_back({line_.substr(begin, end - begin), begin + 1});
    if (end == line_.size()) return tokens_;
    begin = end + 1;
  }
}

std::int64_t TextReader::whole(const Token& token, const char* what, std::int64_t minimum) const {
  std::int64_t value = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    fail(token.column, fmt::format("{} {} does not fit 63 bits", what, printable(token.text)));
  }
  if (error != std::errc() || stop != end) {
    fail(token.column, fmt::format("{} '{}' is not a whole number", what, printable(token.text)));
  }
  if (value < minimum) {
    fail(token.column, value < 0 ? fmt::format("{} {} is negative", what, value)
                                 : fmt::format("{} {} is below {}", what, value, minimum));
  }
  return value;
}

double TextReader::real(const Token& token, const char* what) const {
  const char* const begin = token.text.data();
  const char* const end = begin + token.text.size();
  std::int64_t integer = 0;  // most fields are whole numbers, which parse much faster
  const auto quick = std::from_chars(begin, end, integer);
  if (quick.ec == std::errc() && quick.ptr == end) return static_cast<double>(integer);
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    fail(token.column, fmt::format("{} {} is out of a double's range", what, printable(token.text)));
  }
  if (error != std::errc() || stop != end)
    fail(token.column, fmt::format("{} '{}' is not a number", what, printable(token.text)));
  if (!std::isfinite(value)) fail(token.column, fmt::format("{} {} is not finite", what, printable(token.text)));
  return value;
}

double TextReader::seconds(const Token& token) const {
  const double value = real(token, "time");
  if (value > year_9999_end || value < year_1_begin) {
    fail(token.column,
         fmt::format("time {} is beyond the years 1 to 9999 (are these milliseconds?)", printable(token.text)));
  }
  return value;
}

double TextReader::date_time(const Token& token) const {
  Scanner scan{token.text};
  double value = 0;
  const bool date = scan.date(value);
  const bool time = !date || !(scan.take('T') || scan.take(' ')) || scan.time_of_day(value);
  scan.take('Z');
  if (!date || !time || !scan.rest.empty())
    fail(token.column, fmt::format("'{}' is no date like 2017-01-31T12:00:00Z", printable(token.text)));
  return value;
}

float TextReader::single(const Token& token, const char* what) const {
  const double value = real(token, what);
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    fail(token.column, fmt::format("{} {} does not fit fp32", what, printable(token.text)));
  }
  return static_cast<float>(value);
}

std::int8_t TextReader::label(const Token& token, const char* what) const {
  const double value = real(token, what);
  if (value != std::floor(value) || std::abs(value) > std::numeric_limits<std::int8_t>::max()) {
    fail(token.column, fmt::format("{} {} is not a whole number between -127 and 127", what, printable(token.text)));
  }
  return static_cast<std::int8_t>(value);
}

void TextReader::fail(std::uint64_t column, const std::string& message) const {
  throw InvalidInput(path_, line_number_, column, message);
}

void TextReader::fail_file(const std::string& message) const { throw InvalidInput(path_, 0, 0, message); }

}  // namespace strobe
