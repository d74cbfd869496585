// Parses JSON into a flat tree: nodes in file order, each with the offset of its first byte. nlohmann's parser reports
// events without places. An iterator reports how far it has been read, and only blanks, commas and colons lie between
// tokens: together these recover the places.
// Cost: one pass, 40 bytes a value; the text stays for messages.
#include "workloads/reading/text/json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/errors.hpp"
#include "workloads/reading/text/foreign_files.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30, piece = std::size_t{1} << 20, deepest = 16;

/// Characters of a text; `*read` follows the newest copy.
struct TrackedIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** read;

  reference operator*() const { return *at; }
  TrackedIterator& operator++() {
    *read = ++at;
    return *this;
  }
  TrackedIterator operator++(int) {
    const TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at == other.at; }
  bool operator!=(const TrackedIterator& other) const { return at != other.at; }
};

GrowingColumn<char> read_all(const std::string& path) {
  ByteSource source(path);
  GrowingColumn<char> bytes;
  for (std::size_t got = piece; got == piece;) {
    if (bytes.size() >= most_bytes) throw InvalidInput(path, 0, 0, "the JSON text is longer than 1 GiB");
    const std::size_t before = bytes.size();
    bytes.resize(before + piece);
    got = source.read(bytes.data() + before, piece);
    bytes.shrink(before + got);
  }
  const std::string_view text(bytes.data(), bytes.size());
  refuse_foreign_file(path, text);
  if (text.starts_with(byte_order_mark)) {
    std::copy(bytes.begin() + byte_order_mark.size(), bytes.end(), bytes.begin());
    bytes.shrink(bytes.size() - byte_order_mark.size());
  }
  return bytes;
}

bool of_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; }

}  // namespace

/// Receives the parser's events.
class JsonTreeBuilder {
 public:
  explicit JsonTreeBuilder(JsonTree& tree) : tree_(tree), read_(tree.bytes_.data()), last_end_(read_) {}

  void parse() {
    // The library takes a zero byte for the end of the text and ignores what follows.
    const char* const begin = tree_.bytes_.data();
    const char* const end = begin + tree_.bytes_.size();
    const char* const zero = std::find(begin, end, '\0');
    if (zero != end) tree_.fail(static_cast<std::uint64_t>(zero - begin), "is not JSON: it has a zero byte");
    nlohmann::json::sax_parse(TrackedIterator{begin, &read_}, TrackedIterator{end, &read_}, this);
  }

  bool null() { return scalar(JsonKind::null, 0); }
  bool boolean(bool value) { return scalar(JsonKind::boolean, value); }
  bool number_integer(std::int64_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) { return number(value); }
  bool string(std::string& value) {
    JsonTree::Node& node = add(JsonKind::text);
    node.text = keep(value);
    return close_token();
  }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second)
      tree_.fail(token_begin(), fmt::format("the key '{}' is there twice", printable(name)));
    key_ = keep(name);
    return close_token();
  }
  bool parse_error(std::size_t position, const std::string& last, const nlohmann::json::exception&) {
    const std::string_view shown = last.size() > 30 ? std::string_view(last).substr(last.size() - 30) : last;
    tree_.fail(
        position > 0 ? position - 1 : 0,
        shown.empty() ? "is not JSON" : fmt::format("is not JSON; the last that was read is '{}'", printable(shown)));
  }

 private:
  struct Open {
    std::uint32_t node;
    std::unordered_set<std::string> keys;
  };

  std::uint64_t token_begin() const {
    const char* at = last_end_;
    const char* const end = tree_.bytes_.data() + tree_.bytes_.size();
    while (at < end && std::string_view(" \t\r\n,:").find(*at) != std::string_view::npos) ++at;
    return static_cast<std::uint64_t>(at - tree_.bytes_.data());
  }
  bool close_token() {
    last_end_ = read_;
    return true;
  }
  std::uint32_t keep(const std::string& text) {
    tree_.texts_.append(text.data(), text.size());
    tree_.text_ends_.push_back(tree_.texts_.size());
    return static_cast<std::uint32_t>(tree_.text_ends_.size() - 1);
  }
  JsonTree::Node& add(JsonKind kind) {
    if (tree_.nodes_.size() >= std::numeric_limits<std::uint32_t>::max() / 2)
      tree_.fail(token_begin(), "the JSON text has too many values");
    JsonTree::Node node;
    node.kind = kind;
    node.offset = token_begin();
    node.key = std::exchange(key_, 0);
    node.end = static_cast<std::uint32_t>(tree_.nodes_.size() + 1);
    if (!open_.empty()) ++tree_.nodes_[open_.back().node].size;
    tree_.nodes_.push_back(node);
    return tree_.nodes_[tree_.nodes_.size() - 1];
  }
  bool scalar(JsonKind kind, double value) {
    add(kind).number = value;
    return close_token();
  }
  bool number(double value) {
    add(JsonKind::number).number = value;
    last_end_ = read_;  // the parser has read one character further, unless the text ends here
    if (!of_number(last_end_[-1])) --last_end_;
    return true;
  }
  bool open(JsonKind kind) {
    if (open_.size() >= deepest) tree_.fail(token_begin(), fmt::format("is nested more than {} levels deep", deepest));
    add(kind);
    open_.push_back({static_cast<std::uint32_t>(tree_.nodes_.size() - 1), {}});
    return close_token();
  }
  bool close() {
    tree_.nodes_[open_.back().node].end = static_cast<std::uint32_t>(tree_.nodes_.size());
    open_.pop_back();
    return close_token();
  }

  JsonTree& tree_;
  const char* read_;
  const char* last_end_;
  std::uint32_t key_ = 0;
  std::vector<Open> open_;
};

JsonTree::JsonTree(const std::string& path) : path_(path), bytes_(read_all(path)) {
  text_ends_.push_back(0);
  JsonTreeBuilder(*this).parse();
}

std::string_view JsonTree::text(std::uint32_t number) const {
  const std::uint64_t begin = number == 0 ? 0 : text_ends_[number - 1];
  return {texts_.data() + begin, text_ends_[number] - begin};
}

void JsonTree::fail(std::uint64_t offset, const std::string& message) const {
  const std::string_view before = std::string_view(bytes_.data(), bytes_.size()).substr(0, offset);
  const auto line = static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  throw InvalidInput(path_, line, before.size() - line_begin + 1, message);
}

JsonKind JsonValue::kind() const { return tree_->nodes_[node_].kind; }
std::size_t JsonValue::size() const { return tree_->nodes_[node_].size; }
std::string_view JsonValue::key() const { return tree_->text(tree_->nodes_[node_].key); }
void JsonValue::fail(const std::string& message) const { tree_->fail(tree_->nodes_[node_].offset, message); }

JsonChildren JsonValue::children() const { return {*tree_, node_ + 1, tree_->nodes_[node_].end}; }

std::vector<JsonValue> JsonChildren::list() const {
  std::vector<JsonValue> all;
  for (const JsonValue& child : *this) all.push_back(child);
  return all;
}

bool JsonValue::has(std::string_view name) const {
  if (kind() != JsonKind::object) return false;
  for (const JsonValue& child : children())
    if (child.key() == name) return true;
  return false;
}

JsonValue JsonValue::at(std::string_view name, const char* what) const {
  for (const JsonValue& child : object(what).children()) {
    if (child.key() == name) return child;
  }
  fail(fmt::format("{} has no '{}'", what, name));
}

const JsonValue& JsonValue::array(const char* what) const {
  if (kind() != JsonKind::array) fail(fmt::format("{} is not an array", what));
  return *this;
}

const JsonValue& JsonValue::array(const char* what, std::size_t length) const {
  if (array(what).size() != length) fail(fmt::format("{} has {} elements, expected {}", what, size(), length));
  return *this;
}

const JsonValue& JsonValue::object(const char* what) const {
  if (kind() != JsonKind::object) fail(fmt::format("{} is not an object", what));
  return *this;
}

double JsonValue::within_single(const char* what) const {
  if (kind() != JsonKind::number) fail(fmt::format("{} is not a number", what));
  const double value = tree_->nodes_[node_].number;
  if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())))
    fail(fmt::format("{} {} does not fit fp32", what, value));
  return value;
}

std::int64_t JsonValue::below(std::int64_t limit, const char* what) const {
  if (kind() != JsonKind::number) fail(fmt::format("{} is not a number", what));
  const double value = tree_->nodes_[node_].number;
  if (value != std::floor(value)) fail(fmt::format("{} {} is not a whole number", what, value));
  if (value < 0 || value >= static_cast<double>(limit))
    fail(fmt::format("{} {} is not in 0 ... {}", what, value, limit - 1));
  return static_cast<std::int64_t>(value);
}

std::string JsonValue::name(const char* what) const {
  if (kind() == JsonKind::text) return std::string(tree_->text(tree_->nodes_[node_].text));
  const bool number = kind() == JsonKind::number;
  const double value = tree_->nodes_[node_].number;
  if (!number || value != std::floor(value) || std::abs(value) > 9007199254740992.0)
    fail(fmt::format("{} is neither a text nor a whole number", what));
  return fmt::format("{:.0f}", value);
}

}  // namespace strobe
