// Looks at bytes outside ASCII only where a field begins or ends with one. Source of the list: the Unicode Character
// Database, characters of category Zs, and those of zero width that editors leave in files.
#include "workloads/reading/text/blanks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace strobe {
namespace {

constexpr std::array<std::string_view, 26> wide_blanks = {
    "\xC2\xA0",      // no-break space
    "\xC2\x85",      // next line
    "\xE1\x9A\x80",  // Ogham space
    "\xE2\x80\x80",
    "\xE2\x80\x81",
    "\xE2\x80\x82",
    "\xE2\x80\x83",
    "\xE2\x80\x84",
    "\xE2\x80\x85",
    "\xE2\x80\x86",
    "\xE2\x80\x87",
    "\xE2\x80\x88",
    "\xE2\x80\x89",
    "\xE2\x80\x8A",  // spaces of print, from en quad to hair space
    "\xE2\x80\x8B",  // zero width space
    "\xE2\x80\x8E",
    "\xE2\x80\x8F",  // marks of direction
    "\xE2\x80\xA8",
    "\xE2\x80\xA9",  // separators of lines and paragraphs
    "\xE2\x80\xAF",  // narrow no-break space
    "\xE2\x81\x9F",  // mathematical space
    "\xE2\x81\xA0",  // word joiner
    "\xE3\x80\x80",  // ideographic space
    "\xEF\xBB\xBF",  // byte order mark
    " ",
    "\t"};

/// Bytes of the blank at the front or the end of `text`, 0 when there is none.
std::size_t blank_at(std::string_view text, bool front) {
  if (text.empty()) return 0;
  const auto byte = static_cast<unsigned char>(front ? text.front() : text.back());
  if (byte > ' ' && byte < 0x80) return 0;
  for (const std::string_view blank : wide_blanks) {
    if (front ? text.starts_with(blank) : text.ends_with(blank)) return blank.size();
  }
  return 0;
}

}  // namespace

std::string_view without_blanks_before(std::string_view text, std::uint64_t* skipped) {
  while (const std::size_t bytes = blank_at(text, true)) {
    text.remove_prefix(bytes);
    if (skipped != nullptr) *skipped += bytes;
  }
  return text;
}

std::string_view without_trailing_blanks(std::string_view text) {
  while (const std::size_t bytes = blank_at(text, false)) text.remove_suffix(bytes);
  return text;
}

std::string_view without_blanks(std::string_view text) { return without_trailing_blanks(without_blanks_before(text)); }

std::string header_names(std::string_view line) {
  std::string names;
  for (bool more = true; more;) {
    const std::size_t end = std::min(line.find(','), line.size());
    names += without_blanks(line.substr(0, end));
    more = end < line.size();
    line.remove_prefix(std::min(line.size(), end + 1));
    if (more) names += ',';
  }
  return names;
}

}  // namespace strobe
