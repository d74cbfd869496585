#include "harness/files/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "results/run/files.hpp"
#include "workloads/storage/atomic_file.hpp"

namespace strobe {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

/// Passes the bytes of `values` to `take` part by part, so that a file takes no memory of its own size.
void pass_bytes(std::span<const double> values, bool fp64, const std::function<void(std::string_view)>& take) {
  constexpr std::size_t at_once = 1 << 16;
  std::string bytes;
  for (std::size_t begin = 0; begin < values.size(); begin += at_once) {
    bytes.clear();
    for (const double value : values.subspan(begin, std::min(at_once, values.size() - begin))) {
      const auto narrow = static_cast<float>(value);
      fp64 ? bytes.append(reinterpret_cast<const char*>(&value), sizeof value)
           : bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    }
    take(bytes);
  }
}

/// The digest of content_digest.
std::string digest_of(const Json& header, const std::vector<SavedMatrix>& matrices, bool fp64) {
  const std::string text = header.dump();
  Sha256 hash;
  hash.update(text.data(), text.size());
  for (const SavedMatrix& matrix : matrices)
    pass_bytes(matrix.values, fp64, [&hash](std::string_view bytes) { hash.update(bytes.data(), bytes.size()); });
  return hash.hex();
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<SavedMatrix>& matrices, bool fp64,
                       const FileNotes& notes) {
  Json header = Json::object();
  Json& metadata = header[safetensors_metadata_key] = {{"format", "strobe"}};
  for (const auto& [key, text] : notes) metadata[key] = text;
  std::size_t end = 0;
  for (const SavedMatrix& matrix : matrices) {
    const std::size_t begin = end;
    end += matrix.values.size() * (fp64 ? sizeof(double) : sizeof(float));
    header[matrix.name] = {
        {"dtype", fp64 ? "F64" : "F32"}, {"shape", {matrix.rows, matrix.columns}}, {"data_offsets", {begin, end}}};
  }
  header[safetensors_metadata_key][safetensors_digest_key] = digest_of(header, matrices, fp64);
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(text);
  for (const SavedMatrix& matrix : matrices)
    pass_bytes(matrix.values, fp64, [&file](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, std::span<const double> values,
               bool fp64) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", fp64 ? "<f8" : "<f4", sizes);
  header.append((64 - (header.size() + 11) % 64) % 64, ' ');  // magic, version, length and newline take 11 bytes
  header += '\n';
  std::string content("\x93NUMPY\x01\x00", 8);
  content += static_cast<char>(header.size() & 0xff);
  content += static_cast<char>(header.size() >> 8);
  content += header;
  AtomicFile file(path);
  file.write(content);
  pass_bytes(values, fp64, [&file](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace strobe
