// Registries: models, strategies, formats, generators, devices, ... register themselves by name from their own file.
// Built-ins register in the same way as plug-ins. Storage is a function-local static, so registration does not depend
// on the order in which translation units are initialised; entries are sorted by name.
#pragma once

#include <algorithm>
#include <map>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/fields.hpp"

namespace strobe {

/// A plug-in's entry in a registry. `file` is the source file, relative to the repository root.
template <class T>
struct Entry {
  std::string name;
  std::string description;  // one line
  std::string citation;     // paper or source the plug-in follows; "" only for null objects
  FieldTable parameters;    // its parameters with units, defaults, help
  T value;                  // the factory or function itself
  std::string file;
};

/// All plug-ins of one kind. `Tag` is a type with `static constexpr const char* kind` and `using Value`.
template <class Tag>
class Registry {
 public:
  using Value = typename Tag::Value;

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(Entry<Value> entry) {
    const auto [position, inserted] = entries_.try_emplace(entry.name, entry);
    if (!inserted) duplicates_.push_back(entry.name + " (" + position->second.file + " and " + entry.file + ")");
  }

  /// The entry called `name`. Throws InvalidRequest(where, ...) with the nearest known name, or with the entry whose
  /// source uses `name`.
  const Entry<Value>& find(const std::string& name, const std::string& where = "") const {
    refuse_duplicates();
    const auto position = entries_.find(name);
    if (position == entries_.end()) {
      throw InvalidRequest(where, unknown_name_message(Tag::kind, name, names(), called_so_elsewhere(name)));
    }
    return position->second;
  }

  bool contains(const std::string& name) const { return entries_.count(name) != 0; }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, entry] : entries_) result.push_back(name);
    return result;
  }

  const std::map<std::string, Entry<Value>>& entries() const {
    refuse_duplicates();
    return entries_;
  }

 private:
  std::string called_so_elsewhere(const std::string& name) const {
    for (const auto& [own, entry] : entries_) {
      if (mentions(entry.citation, name)) return own;
    }
    return "";
  }

  void refuse_duplicates() const {
    if (!duplicates_.empty())
      throw Error(std::string("two plug-ins register the same ") + Tag::kind + ": " + duplicates_.front());
  }

  std::map<std::string, Entry<Value>> entries_;
  std::vector<std::string> duplicates_;
};

/// A namespace-scope `const Register<Tag> registered{{...}}` in the plug-in's own file adds it to its registry.
template <class Tag>
struct Register {
  explicit Register(Entry<typename Tag::Value> entry, std::source_location where = std::source_location::current()) {
    entry.file = where.file_name();
    Registry<Tag>::instance().add(std::move(entry));
  }
};

}  // namespace strobe
