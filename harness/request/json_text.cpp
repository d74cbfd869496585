// Builds a JSON value from parser events instead of nlohmann's own document builder, because that one keeps the last of
// two equal keys without a word: a misspelt sweep would then run with a value that its author believes overwritten.
// Invariant: frames_ holds the open containers, outermost first. Cost: one pass over the text.
#include "harness/request/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/errors.hpp"

namespace strobe {
namespace {

class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(const std::string& text, const std::string& source) : text_(text), source_(source) {}
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
    if (top.value.contains(name)) {
      throw InvalidRequest(pointer(), fmt::format("the key '{}' occurs twice in one object of {}", name, source_));
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    const std::size_t end = std::min(position == 0 ? 0 : position - 1, text_.size());
    const auto line =
        static_cast<std::uint64_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n')) +
        1;
    const std::size_t newline = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
    const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;
    throw InvalidInput(source_, line, column, explain(token, error.what()));
  }

 private:
  struct Frame {
    Json value;
    std::string key;
  };

  static std::string explain(const std::string& token, const std::string& what) {
    if (token.find_first_of("NIn") == 0 || token.find("-I") == 0) return "NaN and infinity are not JSON numbers";
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
    frames_.push_back({std::move(container), ""});
    return true;
  }

  bool close() {
    Json value = std::move(frames_.back().value);
    frames_.pop_back();
    return add(std::move(value));
  }

  const std::string& text_;
  const std::string& source_;
  std::vector<Frame> frames_;
  Json root_;
};

}  // namespace

Json parse_json_text(const std::string& text, const std::string& source) {
  StrictBuilder builder(text, source);
  Json::sax_parse(text, &builder);
  return builder.take();
}

Json read_json_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw InvalidRequest("", fmt::format("there is no file '{}'", path));
  if (std::filesystem::is_directory(path, ignored))
    throw InvalidRequest("", fmt::format("'{}' is a folder, not a JSON file", path));
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream) throw InvalidRequest("", fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return parse_json_text(content.str(), path);
}

}  // namespace strobe
