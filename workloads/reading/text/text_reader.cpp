// Lines, fields and numbers of text files. Every number is parsed whole: a field with anything left over is refused.
#include "workloads/reading/text/text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/foreign_files.hpp"
#include "workloads/reading/text/text_numbers.hpp"
#include "workloads/storage/date_time.hpp"

namespace strobe {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr std::size_t first_buffer = std::size_t{1} << 17;
constexpr double year_9999_end = 253402300799.0;  // seconds from 1970 to the last second of the year 9999
constexpr double year_1_begin = -62135596800.0;

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

TextReader::TextReader(const std::string& path) : path_(path), source_(path), buffer_(first_buffer) {
  begin_ = end_ = buffer_.data();
}

TextReader::TextReader(const std::string& path, const TextPart& part)
    : path_(path),
      begin_(part.buffer.data()),
      end_(part.buffer.data() + part.size),
      at_end_(true),
      line_number_(part.lines_before) {
  look_at(begin_, end_);
}

/// Learns whether bytes are all plain text; a CR makes the lines be looked at one by one.
void TextReader::look_at(const char* begin, const char* end) {
  unsigned odd = 0;
  for (const char* c = begin; c < end; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    odd |=
        static_cast<unsigned>(byte < 0x20) & static_cast<unsigned>(byte != '\t') & static_cast<unsigned>(byte != '\n');
  }
  plain_ = plain_ && odd == 0;
}

/// Moves the unread bytes to the front and reads more after them; the buffer grows when one line fills it.
bool TextReader::refill() {
  if (at_end_) return false;
  const std::size_t unread = end_ - begin_;
  std::memmove(buffer_.data(), begin_, unread);
  if (unread == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t room = buffer_.size() - unread;
  const std::size_t got = source_->read(buffer_.data() + unread, room);
  at_end_ = got < room;
  begin_ = buffer_.data();
  end_ = begin_ + unread + got;
  if (!std::exchange(begun_, true)) refuse_foreign_file(path_, {begin_, unread + got});
  look_at(begin_ + unread, end_);
  return got > 0;
}

bool TextReader::take_part(TextPart& part, std::size_t bytes) {
  const std::size_t unread = end_ - begin_;
  if (part.buffer.size() < std::max(bytes, unread)) part.buffer.resize(std::max(bytes, unread));
  std::memcpy(part.buffer.data(), begin_, unread);
  const std::size_t room = part.buffer.size() - unread;
  const std::size_t got = at_end_ ? 0 : source_->read(part.buffer.data() + unread, room);
  at_end_ = at_end_ || got < room;
  const char* const text = part.buffer.data();
  part.size = unread + got;
  const void* const last = at_end_ ? nullptr : memrchr(text, '\n', part.size);
  const std::size_t whole =
      last == nullptr ? part.size : static_cast<std::size_t>(static_cast<const char*>(last) - text) + 1;
  const std::size_t rest = part.size - whole;
  if (buffer_.size() < rest) buffer_.resize(rest);
  std::memcpy(buffer_.data(), text + whole, rest);
  begin_ = buffer_.data();
  end_ = begin_ + rest;
  part.size = whole;
  part.lines_before = line_number_;
  const auto lines = std::count(text, text + whole, '\n');
  line_number_ += static_cast<std::uint64_t>(lines) + (whole > 0 && text[whole - 1] != '\n');
  return whole > 0;
}

bool TextReader::next_raw() {
  const char* end = nullptr;
  for (;;) {
    end = static_cast<const char*>(std::memchr(begin_, '\n', static_cast<std::size_t>(end_ - begin_)));
    const char* const stop = end == nullptr ? end_ : end;
    if (static_cast<std::size_t>(stop - begin_) > longest_line) {
      ++line_number_;
      fail(1, "the line is longer than 1 MiB; is this a text file?");
    }
    if (end != nullptr || !refill()) break;
  }
  if (begin_ == end_) return false;
  if (end == nullptr) end = end_;
  ++line_number_;
  line_ = std::string_view(begin_, static_cast<std::size_t>(end - begin_));
  begin_ = std::min(end_, end + 1);
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  return true;
}

bool TextReader::next() {
  empty_line_ = 0;
  while (next_raw()) {
    if (line_number_ == 1 && line_.substr(0, 3) == byte_order_mark) line_.remove_prefix(3);
    if (line_.empty()) {
      if (empty_line_ == 0) empty_line_ = line_number_;
      continue;
    }
    if (empty_line_ != 0) throw InvalidInput(path_, empty_line_, 1, "the line is empty");
    if (!plain_) check_text();
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

void TextReader::add_token(std::size_t begin, std::size_t end) {
  Token& token = tokens_.emplace_back(Token{line_.substr(begin, end - begin), begin + 1});
  const auto may_be_blank = [](char c) { return static_cast<unsigned char>(c - '!') > '~' - '!'; };
  if (begin == end || (!may_be_blank(token.text.front()) && !may_be_blank(token.text.back()))) return;
  token.text = without_trailing_blanks(without_blanks_before(token.text, &token.column));
}

const std::vector<Token>& TextReader::split_blanks() {
  tokens_.clear();
  std::size_t begin = 0;
  const auto end_field = [&](std::size_t end) {
    if (end > begin) add_token(begin, end);
    if (end > begin && tokens_.back().text.empty()) tokens_.pop_back();  // nothing but blanks of other kinds
    begin = end + 1;
  };
  for_each_separator(line_, ' ', '\t', end_field);
  end_field(line_.size());
  return tokens_;
}

const std::vector<Token>& TextReader::split_commas() {
  tokens_.clear();
  std::size_t begin = 0;
  const auto end_field = [&](std::size_t end) {
    add_token(begin, end);
    begin = end + 1;
  };
  for_each_separator(line_, ',', ',', end_field);
  end_field(line_.size());
  return tokens_;
}

std::int64_t TextReader::whole(const Token& token, const char* what, std::int64_t minimum) const {
  std::int64_t value = digits_only(token.text);
  if (value >= minimum && value >= 0) return value;
  const char* const end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    fail(token.column, fmt::format("{} {} does not fit 63 bits", what, printable(token.text)));
  }
  if (error != std::errc() || stop != end) {
    fail(token.column, fmt::format("{} '{}' is not a whole number{}", what, printable(token.text),
                                   is_like_number(token.text) ? " written with digits alone" : ""));
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
  double value = 0;
  if (short_decimal(token.text, value)) return value;
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
  double value = 0;
  if (!parse_date_time(token.text, value))
    fail(token.column, fmt::format("'{}' is not a date such as 2017-01-31T12:00:00Z", printable(token.text)));
  return value;
}

std::string_view TextReader::name(const Token& token, const char* what) const {
  if (token.text.empty()) fail(token.column, fmt::format("the {} is missing", what));
  return token.text;
}

float TextReader::single(const Token& token, const char* what) const {
  return static_cast<float>(within_single(token, what));
}

double TextReader::within_single(const Token& token, const char* what) const {
  const double value = real(token, what);
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    fail(token.column, fmt::format("{} {} does not fit fp32", what, printable(token.text)));
  }
  return value;
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
