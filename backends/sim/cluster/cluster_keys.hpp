// Keys of a cluster file and how to read their values, for the readers of its parts. Every quantity is an object
// {"value", "source", "date"} under a key that ends in its unit; a few may say that no value is published: {"value":
// null, "reason"}. All functions here throw InvalidRequest with the JSON pointer of the error.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/fields.hpp"

namespace strobe::sim {

/// The required form of a key's value.
enum class Form { text, flag, object, count, bytes, positive, not_negative, factor, price };
/// When a key is required: `network` with more than one node, `links` with more than one GPU in a node, `copies` with
/// GPUs that have memory of their own.
enum class Need { always, never, network, links, copies };
struct Key {
  const char* name;
  Form form;
  Need need = Need::always;
  bool may_be_unknown = false;  // may be null with a reason, which means the same as a missing key
};
using Keys = std::span<const Key>;

/// The key of that name, or null.
const Key* find_key(Keys keys, const std::string& name);

/// The error that no such key is known; it suggests a key.
[[noreturn]] void refuse_key(Keys keys, const std::string& name, const std::string& pointer);

/// Refuses unknown keys of an object, and missing ones that are always required: all at once.
void check_keys(const Json& object, Keys keys, const std::string& pointer);

/// Hears what is wrong with the keys of an object and with their texts, flags and numbers.
void hear_values(const Json& object, Keys keys, const std::string& pointer, Complaints& complaints);

std::string text_at(const Json& object, const char* key, const std::string& pointer);

/// One of `allowed`, or `otherwise` when the key is absent.
std::string choice_at(const Json& object, const char* key, const std::string& pointer,
                      const std::vector<std::string>& allowed, const std::string& otherwise);

bool flag_at(const Json& object, const char* key, const std::string& pointer = "");

/// Whether a change (a what-if) set the quantity, so that it has no date.
bool is_what_if(const Json& quantity);

/// Refuses a quantity without a source, or without the day on which the source was read.
void check_provenance(const Json& quantity, const std::string& pointer);

/// The numbers of one object by key.
class Numbers {
 public:
  Numbers(const Json& object, Keys keys, std::string pointer)
      : object_(object), keys_(keys), pointer_(std::move(pointer)) {}

  /// Whether the key is there and its value is known.
  bool has(const char* name) const;
  double at(const char* name) const;
  double at(const char* name, double otherwise) const { return has(name) ? at(name) : otherwise; }

 private:
  const Json& object_;
  Keys keys_;
  std::string pointer_;
};

/// The JSON value of a key from text: a number where the key holds one.
Json value_from_text(const Key& key, const std::string& text, const std::string& pointer);

}  // namespace strobe::sim
