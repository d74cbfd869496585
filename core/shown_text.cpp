#include "core/shown_text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace strobe {
namespace {

/// A UTF-8 character: its number of bytes (0: the first byte begins no character) and its code point.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t number = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t number = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    number = number << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};  // shorter forms exist below
  const bool surrogate = number >= 0xD800 && number <= 0xDFFF;
  if (number < least[bytes] || number > 0x10FFFF || surrogate) return {};
  return {bytes, number};
}

bool is_control(std::uint32_t number) { return number < 0x20 || (number >= 0x7F && number <= 0x9F); }

std::string shown(std::string_view text, bool keep_newlines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const bool plain = character.bytes != 0 && !is_control(character.number);
    if (plain || (keep_newlines && text.front() == '\n')) {
      result += text.substr(0, bytes);
    } else {
      for (const char c : text.substr(0, bytes)) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string shown_line(std::string_view text) { return shown(text, false); }

std::string shown_lines(std::string_view text) { return shown(text, true); }

}  // namespace strobe
