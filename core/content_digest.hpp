// How a file that Strobe writes and reads back proves itself: it carries the SHA-256 of its own content. There is one
// rule. A digest that is wrong is refused with the file's name. A file without one was written by an older revision or
// by hand: it is read, and who asked for that hears of it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace strobe {

/// The key of a JSON object under which it holds the digest of its other keys.
inline constexpr const char* digest_key = "sha256";

/// SHA-256 of the object's compact JSON, in the order of its keys, and of `bytes` behind that.
std::string content_digest(const Json& object, std::string_view bytes = {});

/// The object with its digest as its last key.
Json with_digest(Json object);

/// Removes the digest from `object` and holds it against the other keys. False where there is none. Throws
/// InvalidInput(path, line, 0, ...) where it is another one; `what` says which part of the file the object is.
bool take_digest(Json& object, const std::string& path, const std::string& what = "", std::uint64_t line = 0);

/// The JSON object in a regular file, without its digest. Throws as read_json_object and take_digest.
Json read_object_with_digest(const std::string& path);

/// The words of that refusal. `key`: where the file holds its digest.
std::string digest_refusal(const std::string& what, const std::string& found, const std::string& named,
                           const std::string& key = digest_key);

/// Who hears of files that were read without a digest: each path once. Set before anything is read.
void hear_of_unproven_files(std::function<void(const std::string& path)> listener);

/// To be called by the reader of such a file.
void note_unproven_file(const std::string& path);

}  // namespace strobe
