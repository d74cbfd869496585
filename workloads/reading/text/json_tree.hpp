// JSON files whose values know their place, so that a complaint about any of them names its line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/storage/growing_column.hpp"

namespace strobe {

enum class JsonKind : std::uint8_t { null, boolean, number, text, array, object };

class JsonTree;
class JsonChildren;

/// A value of a tree. Cheap to copy; valid as long as its tree.
class JsonValue {
 public:
  JsonValue(const JsonTree& tree, std::uint32_t node) : tree_(&tree), node_(node) {}

  JsonKind kind() const;
  /// Elements of an array, members of an object; 0 for other kinds.
  std::size_t size() const;
  /// Name of a member of an object; "" for elements and the root.
  std::string_view key() const;

  /// The elements or members in file order.
  JsonChildren children() const;
  /// Whether this object has a member `name`.
  bool has(std::string_view name) const;
  /// The member `name`. Throws InvalidInput when this is no object or has none; `what` names this value in the message.
  JsonValue at(std::string_view name, const char* what) const;

  /// This value if it is an array (of `size` elements), else InvalidInput.
  const JsonValue& array(const char* what) const;
  const JsonValue& array(const char* what, std::size_t size) const;
  const JsonValue& object(const char* what) const;

  /// A finite number within fp32's range, not rounded to it.
  double within_single(const char* what) const;
  /// A whole number in [0, limit).
  std::int64_t below(std::int64_t limit, const char* what) const;
  /// A text, or a whole number as text: how files name vertices.
  std::string name(const char* what) const;

  /// Throws InvalidInput at this value.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  friend class JsonChildren;

  const JsonTree* tree_;
  std::uint32_t node_;
};

/// A parsed file, plain or gzip. Under a bound of memory (reading_bound.hpp) a large tree lies in temporary files.
class JsonTree {
 public:
  /// Throws InvalidInput for bytes that are no JSON, repeated keys, more than 16 levels, or more than 1 GiB of text.
  explicit JsonTree(const std::string& path);
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  JsonValue root() const { return {*this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonChildren;
  friend class JsonTreeBuilder;

  struct Node {
    double number = 0;
    std::uint64_t offset = 0;  // of its first byte
    std::uint32_t key = 0;     // number of a text
    std::uint32_t text = 0;    // number of a text
    std::uint32_t size = 0;    // children
    std::uint32_t end = 0;     // one past its last descendant
    JsonKind kind = JsonKind::null;
  };

  [[noreturn]] void fail(std::uint64_t offset, const std::string& message) const;
  std::string_view text(std::uint32_t number) const;

  std::string path_;
  GrowingColumn<char> bytes_;
  GrowingColumn<Node> nodes_;  // in file order, a value before its children
  GrowingColumn<char> texts_;
  GrowingColumn<std::uint64_t> text_ends_;  // in texts_; text 0 is ""
};

/// The elements or members of a value in file order. Valid as long as its tree.
class JsonChildren {
 public:
  class Iterator {
   public:
    Iterator(const JsonTree& tree, std::uint32_t node) : value_(tree, node) {}
    const JsonValue& operator*() const { return value_; }
    Iterator& operator++() {
      value_.node_ = value_.tree_->nodes_[value_.node_].end;
      return *this;
    }
    bool operator==(const Iterator& other) const { return value_.node_ == other.value_.node_; }

   private:
    JsonValue value_;
  };

  JsonChildren(const JsonTree& tree, std::uint32_t first, std::uint32_t end) : tree_(tree), first_(first), end_(end) {}
  Iterator begin() const { return {tree_, first_}; }
  Iterator end() const { return {tree_, end_}; }
  std::vector<JsonValue> list() const;

 private:
  const JsonTree& tree_;
  std::uint32_t first_, end_;
};

}  // namespace strobe
