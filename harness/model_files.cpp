#include "harness/model_files.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/fields.hpp"
#include "results/files.hpp"

namespace strobe {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

void append_values(std::string& bytes, const std::vector<double>& values, bool fp64) {
  for (const double value : values) {
    const auto narrow = static_cast<float>(value);
    fp64 ? bytes.append(reinterpret_cast<const char*>(&value), sizeof value)
         : bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
}

std::vector<double> values_at(const char* bytes, std::size_t count, bool fp64) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    float narrow = 0;
    if (fp64) {
      std::memcpy(&values[i], bytes + i * sizeof(double), sizeof(double));
    } else {
      std::memcpy(&narrow, bytes + i * sizeof narrow, sizeof narrow);
      values[i] = narrow;
    }
  }
  return values;
}

/// One entry of the header, checked against the data's size.
SavedMatrix read_entry(const std::string& path, const std::string& name, const Json& entry, const std::string& data) {
  const auto refuse = [&](const std::string& why) { throw InvalidInput(path, 0, 0, "tensor '" + name + "' " + why); };
  const std::string type = entry.value("dtype", std::string());
  if (type != "F32" && type != "F64") refuse("has type '" + type + "'; F32 and F64 are read");
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) refuse("is not a matrix");
  const std::size_t element = type == "F64" ? 8 : 4;
  const auto wide = static_cast<unsigned __int128>(shape[0]) * static_cast<unsigned __int128>(shape[1]) * element;
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size() || offsets[1] - offsets[0] != wide) {
    refuse("does not fit its data_offsets");
  }
  return {name, shape[0], shape[1],
          values_at(data.data() + offsets[0], static_cast<std::size_t>(wide) / element, type == "F64")};
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<SavedMatrix>& matrices, bool fp64,
                       const FileNotes& notes) {
  Json header = Json::object();
  header["__metadata__"] = {{"format", "strobe"}};
  for (const auto& [key, text] : notes) header["__metadata__"][key] = text;
  std::string data;
  for (const SavedMatrix& matrix : matrices) {
    const std::size_t begin = data.size();
    append_values(data, matrix.values, fp64);
    header[matrix.name] = {{"dtype", fp64 ? "F64" : "F32"},
                           {"shape", {matrix.rows, matrix.columns}},
                           {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string content(reinterpret_cast<const char*>(&length), sizeof length);
  write_file_atomically(path, content + text + data);
}

std::vector<SavedMatrix> read_safetensors(const std::string& path, FileNotes* notes) {
  const std::string content = read_text_file(path);
  std::uint64_t length = 0;
  if (content.size() >= sizeof length) std::memcpy(&length, content.data(), sizeof length);
  if (content.size() < sizeof length || length > content.size() - sizeof length) {
    throw InvalidInput(path, 0, 0, "not a safetensors file: its header does not fit");
  }
  const Json header = Json::parse(content.substr(sizeof length, length), nullptr, false);
  if (!header.is_object()) throw InvalidInput(path, 0, 0, "not a safetensors file: its header is not a JSON object");
  const std::string data = content.substr(sizeof length + length);
  std::vector<SavedMatrix> matrices;
  std::uint64_t used = 0;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        if (notes != nullptr) *notes = entry.get<FileNotes>();
        continue;
      }
      matrices.push_back(read_entry(path, name, entry, data));
      used = std::max(used, entry.at("data_offsets").at(1).get<std::uint64_t>());
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(path, 0, 0, std::string("malformed safetensors header: ") + error.what());
  }
  if (used != data.size()) throw InvalidInput(path, 0, 0, "bytes are left over after the last tensor");
  return matrices;
}

void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<double>& values,
               bool fp64) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", fp64 ? "<f8" : "<f4", sizes);
  header.append((64 - (header.size() + 11) % 64) % 64, ' ');  // magic, version, length and newline make 11 bytes
  header += '\n';
  std::string content("\x93NUMPY\x01\x00", 8);
  content += static_cast<char>(header.size() & 0xff);
  content += static_cast<char>(header.size() >> 8);
  content += header;
  append_values(content, values, fp64);
  write_file_atomically(path, content);
}

}  // namespace strobe
