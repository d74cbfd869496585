#include "core/content_digest.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t shown_digits = 12;  // of a digest, in messages

struct UnprovenFiles {
  std::mutex mutex;
  std::set<std::string> reported;
  std::function<void(const std::string&)> listener;
};

UnprovenFiles& unproven_files() {
  static UnprovenFiles files;
  return files;
}

}  // namespace

std::string content_digest(const Json& object, std::string_view bytes) {
  const std::string text = object.dump();
  Sha256 hash;
  hash.update(text.data(), text.size());
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

Json with_digest(Json object) {
  object.erase(digest_key);
  object[digest_key] = content_digest(object);
  return object;
}

bool take_digest(Json& object, const std::string& path, const std::string& what, std::uint64_t line) {
  const auto held = object.find(digest_key);
  if (held == object.end()) return false;
  const Json named = *held;
  object.erase(digest_key);
  const std::string found = content_digest(object);
  if (named == found) return true;
  throw InvalidInput(path, line, 0,
                     digest_refusal(what, found, named.is_string() ? named.get<std::string>() : named.dump()));
}

Json read_object_with_digest(const std::string& path) {
  Json object = read_json_object(path);
  take_digest(object, path);
  return object;
}

std::string digest_refusal(const std::string& what, const std::string& found, const std::string& named,
                           const std::string& key) {
  return fmt::format(
      "{}damaged, or changed since it was written: its content has SHA-256 {}, but {} says {} (if you changed it on "
      "purpose, take {} out)",
      what.empty() ? "" : what + " is ", found.substr(0, shown_digits), key, named.substr(0, shown_digits), key);
}

void hear_of_unproven_files(std::function<void(const std::string& path)> listener) {
  UnprovenFiles& files = unproven_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.listener = std::move(listener);
}

void note_unproven_file(const std::string& path) {
  UnprovenFiles& files = unproven_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  if (files.listener && files.reported.insert(path).second) files.listener(path);
}

}  // namespace strobe
