#include "harness/files/model_files.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/fields.hpp"
#include "results/run/files.hpp"
#include "workloads/storage/atomic_file.hpp"

namespace strobe {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

/// The caller reserves room: growing takes up to twice as much, which a limit of host memory does not plan.
void append_values(std::string& bytes, const std::vector<double>& values, bool fp64) {
  for (const double value : values) {
    const auto narrow = static_cast<float>(value);
    fp64 ? bytes.append(reinterpret_cast<const char*>(&value), sizeof value)
         : bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<SavedMatrix>& matrices, bool fp64,
                       const FileNotes& notes) {
  Json header = Json::object();
  Json& metadata = header[safetensors_metadata_key] = {{"format", "strobe"}};
  for (const auto& [key, text] : notes) metadata[key] = text;
  std::string data;
  std::size_t count = 0;
  for (const SavedMatrix& matrix : matrices) count += matrix.values.size();
  data.reserve(count * (fp64 ? sizeof(double) : sizeof(float)));
  for (const SavedMatrix& matrix : matrices) {
    const std::size_t begin = data.size();
    append_values(data, matrix.values, fp64);
    header[matrix.name] = {{"dtype", fp64 ? "F64" : "F32"},
                           {"shape", {matrix.rows, matrix.columns}},
                           {"data_offsets", {begin, data.size()}}};
  }
  header[safetensors_metadata_key][safetensors_digest_key] = content_digest(header, data);
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(text);
  file.write(data);
  file.commit();
}

void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<double>& values,
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
  content.reserve(content.size() + values.size() * (fp64 ? sizeof(double) : sizeof(float)));
  append_values(content, values, fp64);
  write_file_atomically(path, content);
}

}  // namespace strobe
