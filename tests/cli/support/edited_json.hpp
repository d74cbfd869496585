// JSON of a run that a test changes by hand.
#pragma once

#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"

namespace strobe::cli_test {

/// The value without its digests, which would reveal an edited file.
inline Json without_digests(Json json) {
  if (json.is_object()) json.erase(digest_key);
  for (Json& item : json)
    if (item.is_structured()) item = without_digests(std::move(item));
  return json;
}

}  // namespace strobe::cli_test
