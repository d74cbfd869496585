// Files that are no plain or gzip text, recognised by their first bytes, so that a refusal can say how to convert them.
#pragma once

#include <string>
#include <string_view>

namespace strobe {

/// The kind of a file that begins with `head`, and how to make it readable; "" for text and for unknown kinds.
std::string describe_foreign_file(std::string_view head);

/// Throws InvalidInput about `path` when its first bytes are those of such a file.
void refuse_foreign_file(const std::string& path, std::string_view head);

}  // namespace strobe
