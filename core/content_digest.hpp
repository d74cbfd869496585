// Files that Strobe writes and reads back carry the SHA-256 of their own content. A file with a wrong digest is refused
// by name. A file without a digest was written by an older revision or by hand. It is read, and the listener of
// hear_of_unproven_files is called.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace strobe {

/// The key that holds the digest of a JSON object's other keys.
inline constexpr const char* digest_key = "sha256";

/// SHA-256 of the object's compact JSON, in the order of its keys, followed by `bytes`.
std::string content_digest(const Json& object, std::string_view bytes = {});

/// The object with its digest as its last key.
Json with_digest(Json object);

/// Removes the digest from `object` and compares it with the digest of the other keys. Returns false when there is
/// none. Throws InvalidInput(path, line, 0, ...) when they differ; `what` names the part of the file that the object
/// is.
bool take_digest(Json& object, const std::string& path, const std::string& what = "", std::uint64_t line = 0);

/// The JSON object in a regular file, without its digest. Throws the same as read_json_object and take_digest.
Json read_object_with_digest(const std::string& path);

/// The message of that refusal. `key`: where the file holds its digest.
std::string digest_refusal(const std::string& what, const std::string& found, const std::string& named,
                           const std::string& key = digest_key);

/// Sets the function that hears of each path read without a digest, once per path. Set it before anything is read.
void hear_of_unproven_files(std::function<void(const std::string& path)> listener);

/// The reader of such a file calls this.
void note_unproven_file(const std::string& path);

}  // namespace strobe
