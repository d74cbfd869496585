#include "results/row/json_lines.hpp"

#include <fmt/format.h>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"

namespace strobe {

std::string json_line(const Json& object) {
  std::string text = object.dump();
  const std::string digest = sha256_hex(text);  // as with_digest, without writing the object twice
  text.back() = ',';
  return text + fmt::format(R"("{}":"{}"}})", digest_key, digest) + "\n";
}

std::size_t for_each_json_line(const std::string& path, const std::string& what, const UseJsonLine& use) {
  const std::string text = read_regular_file(path);
  std::uint64_t number = 0;
  std::size_t unproven = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line(text.data() + begin, end - begin);
    ++number;
    Json object = parse_json_or_discard(line);
    if (object.is_discarded()) throw InvalidInput(path, number, 0, fmt::format("not a {}: not valid JSON", what));
    try {
      if (!object.is_object() || !take_digest(object, path, "", number)) ++unproven;
      use(line, object, number);
    } catch (const nlohmann::json::exception& error) {
      throw InvalidInput(path, number, 0, fmt::format("not a {}: {}", what, json_complaint(error)));
    }
  }
  return unproven;
}

}  // namespace strobe
