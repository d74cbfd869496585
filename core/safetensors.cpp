#include "core/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/fields.hpp"
#include "core/json_reader.hpp"

namespace strobe {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

/// The number at index `i` of `bytes`, with the bits of type T.
template <class T>
T bits_at(const char* bytes, std::size_t i) {
  T bits{};
  std::memcpy(&bits, bytes + i * sizeof(T), sizeof(T));
  return bits;
}

/// IEEE 754 binary16: a sign, 5 bits of exponent, 10 of mantissa. Exact.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = std::ldexp(exponent == 0 ? mantissa : mantissa + 1024, std::max(exponent, 1) - 25);
  if (exponent == 31)
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 == 0 ? value : -value;
}

/// The upper half of an fp32 number. Exact.
double bfloat_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// A number type of safetensors and the function that reads it.
struct NumberType {
  std::string_view name;
  std::size_t bytes;
  double (*value)(const char* bytes, std::size_t i);
};

constexpr NumberType number_types[] = {
    {"F64", 8, [](const char* bytes, std::size_t i) { return bits_at<double>(bytes, i); }},
    {"F32", 4, [](const char* bytes, std::size_t i) { return static_cast<double>(bits_at<float>(bytes, i)); }},
    {"F16", 2, [](const char* bytes, std::size_t i) { return half_value(bits_at<std::uint16_t>(bytes, i)); }},
    {"BF16", 2, [](const char* bytes, std::size_t i) { return bfloat_value(bits_at<std::uint16_t>(bytes, i)); }}};

/// The range of data bytes that a tensor occupies.
struct TensorBytes {
  std::uint64_t begin = 0, end = 0;
  std::string name;
};

/// Every byte must belong to exactly one tensor, as the format demands.
void check_cover(const std::string& path, std::vector<TensorBytes> tensors, std::uint64_t size) {
  const auto refuse = [&path](const std::string& why) { throw InvalidInput(path, 0, 0, why); };
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  const TensorBytes* last = nullptr;
  for (const TensorBytes& next : tensors) {
    const std::uint64_t covered = last == nullptr ? 0 : last->end;
    if (next.begin < covered)
      refuse(fmt::format("tensors '{}' and '{}' share bytes {} to {}; each must have its own", last->name, next.name,
                         next.begin, std::min(covered, next.end)));
    if (next.begin > covered)
      refuse(fmt::format("bytes {} to {} before tensor '{}' belong to no tensor", covered, next.begin, next.name));
    last = &next;
  }
  const std::uint64_t covered = last == nullptr ? 0 : last->end;
  if (covered == size) return;
  refuse(last == nullptr
             ? fmt::format("its {} bytes belong to no tensor", size)
             : fmt::format("bytes {} to {} are left over after the last tensor, '{}'", covered, size, last->name));
}

/// Removes the digest from the header and checks it. Returns false if a file of Strobe has no digest. Files of other
/// programs need none.
bool take_safetensors_digest(const std::string& path, Json& header, std::string_view data) {
  const auto metadata = header.find(safetensors_metadata_key);
  if (metadata == header.end() || !metadata->is_object()) return true;
  if (!metadata->contains(safetensors_digest_key)) return metadata->value("format", Json()) != "strobe";
  const Json named = metadata->at(safetensors_digest_key);
  metadata->erase(safetensors_digest_key);
  const std::string found = content_digest(header, data);
  if (named != found)
    throw InvalidInput(path, 0, 0,
                       digest_refusal("", found, named.is_string() ? named.get<std::string>() : named.dump(),
                                      std::string(safetensors_digest_key) + " of its metadata"));
  return true;
}

/// Reads one entry of the header and checks it against the data's size.
SavedMatrix read_entry(const std::string& path, const std::string& name, const Json& entry, std::string_view data) {
  const auto refuse = [&](const std::string& why) { throw InvalidInput(path, 0, 0, "tensor '" + name + "' " + why); };
  const std::string type = entry.value("dtype", std::string());
  const auto number = std::find_if(std::begin(number_types), std::end(number_types),
                                   [&](const NumberType& known) { return known.name == type; });
  if (number == std::end(number_types)) refuse("has type '" + type + "'; F64, F32, F16 and BF16 are read");
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) refuse("is not a matrix");
  const auto wide = static_cast<unsigned __int128>(shape[0]) * static_cast<unsigned __int128>(shape[1]) * number->bytes;
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size() || offsets[1] - offsets[0] != wide) {
    refuse("does not fit its data_offsets");
  }
  SavedMatrix matrix{name, shape[0], shape[1], std::vector<double>(static_cast<std::size_t>(wide) / number->bytes)};
  for (std::size_t i = 0; i < matrix.values.size(); ++i) matrix.values[i] = number->value(data.data() + offsets[0], i);
  return matrix;
}

}  // namespace

std::vector<SavedMatrix> read_safetensors(const std::string& path, FileNotes* notes) {
  const std::string content = read_regular_file(path);
  std::uint64_t length = 0;
  if (content.size() >= sizeof length) std::memcpy(&length, content.data(), sizeof length);
  if (content.size() < sizeof length || length > content.size() - sizeof length) {
    throw InvalidInput(path, 0, 0, "not a safetensors file: its header does not fit");
  }
  Json header = parse_json_or_discard(std::string_view(content).substr(sizeof length, length));
  if (!header.is_object()) throw InvalidInput(path, 0, 0, "not a safetensors file: its header is not a JSON object");
  const std::string_view data = std::string_view(content).substr(sizeof length + length);
  const bool proven = take_safetensors_digest(path, header, data);
  std::vector<SavedMatrix> matrices;
  std::vector<TensorBytes> tensors;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == safetensors_metadata_key) {
        if (notes != nullptr) *notes = entry.get<FileNotes>();
        continue;
      }
      matrices.push_back(read_entry(path, name, entry, data));
      const Json& offsets = entry.at("data_offsets");
      tensors.push_back({offsets.at(0).get<std::uint64_t>(), offsets.at(1).get<std::uint64_t>(), name});
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(path, 0, 0, "malformed safetensors header: " + json_complaint(error));
  }
  check_cover(path, std::move(tensors), data.size());
  if (!proven) note_unproven_file(path);
  return matrices;
}

}  // namespace strobe
