// Blanks around the fields of text files: what somebody sees as nothing and a program as another name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strobe {

/// `text` without leading blanks: spaces, tabs, the space characters of Unicode (no-break, thin, ideographic and
/// others), characters of zero width and byte order marks, in UTF-8. `skipped`, when given, grows by the bytes left
/// out.
std::string_view without_blanks_before(std::string_view text, std::uint64_t* skipped = nullptr);

/// The same at its end.
std::string_view without_trailing_blanks(std::string_view text);

/// The same at both.
std::string_view without_blanks(std::string_view text);

/// A line of names between commas, without the blanks around each of them.
std::string header_names(std::string_view line);

}  // namespace strobe
