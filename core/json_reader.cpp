// Builds a JSON value from parser events. nlohmann's document builder silently keeps the last of two equal keys, so a
// misspelt sweep would run with a value that its author believes overwritten. It also does not limit the depth, and
// values of a million levels cannot be copied or destroyed, because both recurse.
// Invariant: frames_ holds the open containers, outermost first. Cost: one pass over the text.
#include "core/json_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace strobe {
namespace {

class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(std::string_view text, const std::string& source, const RepeatedKey& repeated)
      : text_(text), source_(source), repeated_(repeated) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Frame& top = frames_.back();
    top.key = name;
    if (!top.value.contains(name)) return true;
    if (repeated_) repeated_(pointer(), name);
    throw InvalidInput(source_, 0, 0, fmt::format("{}: this key occurs twice in one object", pointer()));
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    refuse(std::min(position == 0 ? 0 : position - 1, text_.size()), explain(token, error.what()));
  }

  /// The library takes a zero byte for the end of the text and ignores what follows.
  void refuse_zero_bytes() const {
    const std::size_t zero = text_.find('\0');
    if (zero != std::string_view::npos) refuse(zero, "not valid JSON: it has a zero byte");
  }

 private:
  struct Frame {
    Json value;
    std::string key;
  };

  [[noreturn]] void refuse(std::size_t end, const std::string& message) const {
    const auto line =
        static_cast<std::uint64_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n')) +
        1;
    const std::size_t newline = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
    const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;
    throw InvalidInput(source_, line, column, message);
  }

  static std::string explain(const std::string& token, const std::string& what) {
    if (token.find_first_of("NIn") == 0 || token.find("-I") == 0) return "NaN and infinity are not JSON numbers";
    if (what.find("out_of_range.406") != std::string::npos)
      return "not valid JSON: " + token + " is too large for a number";
    const std::size_t detail = what.find(" - ");
    const std::size_t colon = what.rfind(": ", detail);
    return "not valid JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2));
  }

  std::string pointer() const {
    std::string result;
    for (const Frame& frame : frames_) {
      result += '/';
      result += frame.value.is_array() ? std::to_string(frame.value.size()) : frame.key;
    }
    return result;
  }

  bool add(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (frames_.back().value.is_array()) {
      frames_.back().value.push_back(std::move(value));
    } else {
      frames_.back().value[frames_.back().key] = std::move(value);
    }
    return true;
  }

  bool open(Json container) {
    if (frames_.size() >= deepest_json)
      throw InvalidInput(source_, 0, 0, fmt::format("is nested more than {} levels deep", deepest_json));
    frames_.push_back({std::move(container), ""});
    return true;
  }

  bool close() {
    Json value = std::move(frames_.back().value);
    frames_.pop_back();
    return add(std::move(value));
  }

  const std::string_view text_;
  const std::string& source_;
  const RepeatedKey& repeated_;
  std::vector<Frame> frames_;
  Json root_;
};

/// An open file, closed on every path out of the scope.
struct OpenFile {
  int number;
  ~OpenFile() { ::close(number); }
};

}  // namespace

Json parse_json(std::string_view text, const std::string& source, const RepeatedKey& repeated) {
  StrictBuilder builder(text, source, repeated);
  builder.refuse_zero_bytes();
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json parse_json_or_discard(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const InvalidInput&) {
    return Json(Json::value_t::discarded);
  }
}

std::string read_regular_file(const std::string& path) {
  const auto fail = [&](int error) {
    throw SystemError(fmt::format("cannot read {}: {}", path, std::strerror(error)));
  };
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe must not block here
  if (file.number < 0) fail(errno);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) throw InvalidInput(path, 0, 0, "is a folder, not a file");
  if (!S_ISREG(status.st_mode)) throw InvalidInput(path, 0, 0, "is not a regular file");
  std::string bytes;
  constexpr std::size_t piece = std::size_t{1} << 18;
  for (std::size_t size = 0;;) {
    bytes.resize(std::max(size + piece, static_cast<std::size_t>(status.st_size) + 1));
    const ssize_t got = ::read(file.number, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno != EINTR) fail(errno);
    if (got > 0) size += static_cast<std::size_t>(got);
    if (got != 0) continue;
    bytes.resize(size);
    return bytes;
  }
}

Json read_json_value(const std::string& path) { return parse_json(read_regular_file(path), path); }

Json read_json_object(const std::string& path) {
  Json json = read_json_value(path);
  if (!json.is_object()) throw InvalidInput(path, 0, 0, "not a JSON object");
  return json;
}

std::string json_complaint(const nlohmann::json::exception& error) {
  const std::string what = error.what();
  const std::size_t words = what.find("] ");
  const std::string text = words == std::string::npos ? what : what.substr(words + 2);
  constexpr int wrong_type = 302, no_such_key = 403, no_utf8 = 316;
  if (error.id == no_utf8) return "a string is not UTF-8";
  if (error.id == wrong_type) return "a value's " + text;
  if (error.id == no_such_key && text.find('\'') != std::string::npos)
    return fmt::format("the key {} is missing", text.substr(text.find('\''), text.rfind('\'') + 1 - text.find('\'')));
  const std::size_t is = text.rfind(' ');
  if (dynamic_cast<const nlohmann::json::type_error*>(&error) != nullptr && is != std::string::npos)
    return fmt::format("a value has the wrong type, {}", text.substr(is + 1));
  return text;
}

}  // namespace strobe
