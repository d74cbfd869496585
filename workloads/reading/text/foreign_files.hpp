// Files that are no plain or gzip text, told by their first bytes, so that a refusal can say what to do with them.
#pragma once

#include <string>
#include <string_view>

namespace strobe {

/// What a file that begins with `head` is and what makes it readable; "" for text and for what is not known.
std::string describe_foreign_file(std::string_view head);

/// Throws InvalidInput about `path` when its first bytes are those of such a file.
void refuse_foreign_file(const std::string& path, std::string_view head);

}  // namespace strobe
