// Reading text files exactly: plain or gzip, line by line, with the file, line and column of every complaint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strobe {

/// The bytes that some programs write before the first line of UTF-8.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The bytes of a regular file, decompressed on the way when they begin with gzip's magic. Concatenated gzip members
/// are one stream; a truncated or damaged stream and bytes after it are InvalidInput.
class ByteSource {
 public:
  /// Throws InvalidInput when `path` does not exist or is no regular file, SystemError when it cannot be opened.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `out` with up to `size` bytes; fewer only at the end of the file. Returns how many.
  std::size_t read(char* out, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A field of a line; `column` is 1-based, of its first byte.
struct Token {
  std::string_view text;
  std::uint64_t column = 0;
};

/// Consecutive whole lines of a file.
struct TextPart {
  std::vector<char> buffer;
  std::size_t size = 0;  // bytes of `buffer` that count
  std::uint64_t lines_before = 0;
};

/// The lines of a text file without their ends (LF or CRLF). Empty lines are accepted at the end of the file only.
class TextReader {
 public:
  explicit TextReader(const std::string& path);
  /// The lines of a part of `path`, numbered as in the file; `part` must outlive the reader.
  TextReader(const std::string& path, const TextPart& part);

  /// Whether the unread rest of the file is in memory already (reads more when nothing is left).
  bool in_memory() {
    if (begin_ == end_) refill();
    return at_end_;
  }
  /// Moves the lines after the current one, about `bytes` of them, into `part`; false at the end of the file. A line
  /// longer than `bytes` arrives alone or cut, which `next` refuses when `bytes` is above 1 MiB.
  bool take_part(TextPart& part, std::size_t bytes);

  /// Moves to the next line; false at the end of the file. Throws InvalidInput for an empty line in the middle, bytes
  /// that are not text, and lines above 1 MiB.
  bool next();

  std::string_view line() const { return line_; }
  std::uint64_t line_number() const { return line_number_; }
  /// The first of the empty lines that `next` passed over on its way to the end; 0 when there was none.
  std::uint64_t empty_line() const { return empty_line_; }
  const std::string& path() const { return path_; }

  /// Fields of the current line between runs of spaces and tabs, or between commas (empty fields are kept), without the
  /// blanks around them (blanks.hpp). Valid until the next call.
  const std::vector<Token>& split_blanks();
  const std::vector<Token>& split_commas();

  /// A whole number in [minimum, 2^63). `what` names it in messages: "source vertex id".
  std::int64_t whole(const Token& token, const char* what, std::int64_t minimum = 0) const;
  /// A finite number.
  double real(const Token& token, const char* what) const;
  /// Seconds since 1970 between the years 1 and 9999, or seconds since any origin in the same range.
  double seconds(const Token& token) const;
  /// Seconds since 1970 of a date: 2017-01-31 or 2017/01/31, then optionally T or a blank and 12:00, 12:00:00 or
  /// 12:00:00.5, then optionally its zone: Z, +02:00, +0200 or +02. UTC without one.
  double date_time(const Token& token) const;
  /// Either of them.
  double seconds_or_date(const Token& token) const { return is_date(token) ? date_time(token) : seconds(token); }
  /// Whether it is written as a date, with a hyphen or a slash after four characters.
  static bool is_date(const Token& token) { return token.text.find_first_of("-/", 1) == 4; }
  /// Text that is not empty.
  std::string_view name(const Token& token, const char* what) const;
  /// A finite number that fits fp32.
  float single(const Token& token, const char* what) const;
  /// The same, not rounded to fp32.
  double within_single(const Token& token, const char* what) const;
  double weight(const Token& token) const { return within_single(token, "weight"); }
  /// A whole number in [-127, 127], also when it is written as 1.0.
  std::int8_t label(const Token& token, const char* what) const;

  /// Throws InvalidInput at the current line. `column` 0 means the whole line.
  [[noreturn]] void fail(std::uint64_t column, const std::string& message) const;
  /// Throws InvalidInput about the whole file.
  [[noreturn]] void fail_file(const std::string& message) const;

 private:
  bool next_raw();
  bool refill();
  void check_text() const;
  void look_at(const char* begin, const char* end);
  void add_token(std::size_t begin, std::size_t end);

  std::string path_;
  std::optional<ByteSource> source_;  // none for a part
  std::vector<char> buffer_;
  const char* begin_ = nullptr;  // unread bytes: of buffer_, or of a part
  const char* end_ = nullptr;
  bool begun_ = false;  // something was read
  bool at_end_ = false;
  bool plain_ = true;  // no byte so far but text, tabs and LF, so lines need no look of their own
  std::string_view line_;
  std::uint64_t line_number_ = 0, empty_line_ = 0;
  std::vector<Token> tokens_;
};

/// The first `size` decompressed bytes of a file.
std::string read_head(const std::string& path, std::size_t size);

/// `text` shortened to 40 bytes with unprintable bytes as \xNN, for messages.
std::string printable(std::string_view text);

}  // namespace strobe
