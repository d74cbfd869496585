// Weight matrices in safetensors files (harness/files/model_files.hpp writes them).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace strobe {

/// One weight matrix [rows, columns], row-major.
struct SavedMatrix {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;
};

/// Text in the metadata of a safetensors file, by key.
using FileNotes = std::map<std::string, std::string>;

/// Keys of the header: the metadata, and in them Strobe's digest. The prefix avoids keys of other programs.
inline constexpr const char* safetensors_metadata_key = "__metadata__";
inline constexpr const char* safetensors_digest_key = "strobe_sha256";

/// Reads the two-dimensional F64, F32, F16 and BF16 tensors of a safetensors file, exactly. Puts its metadata into
/// `notes` when that is not null. Throws InvalidInput when the file is no safetensors file, is truncated or does not
/// match its digest. The same holds when two tensors share bytes, when bytes belong to none, or for another type or
/// shape. Throws SystemError when the file cannot be read.
std::vector<SavedMatrix> read_safetensors(const std::string& path, FileNotes* notes = nullptr);

}  // namespace strobe
