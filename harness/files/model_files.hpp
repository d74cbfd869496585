// Files that carry a trained model from one run to another: weights as safetensors, embeddings as NumPy arrays.
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

/// Writes matrices as safetensors, atomically: 8-byte little-endian length, JSON header with dtype, shape and offsets,
/// then the values as F32 or F64. The metadata hold `notes`, format = strobe and a digest of all this (strobe_sha256).
/// Throws SystemError.
void write_safetensors(const std::string& path, const std::vector<SavedMatrix>& matrices, bool fp64,
                       const FileNotes& notes = {});

/// Reads the two-dimensional F64, F32, F16 and BF16 tensors of a safetensors file, exactly. Puts its metadata into
/// `notes` when that is not null. Throws InvalidInput when the file is no safetensors file, is truncated or does not
/// match its digest. The same holds when two tensors share bytes, when bytes belong to none, or for another type or
/// shape. Throws SystemError when the file cannot be read.
std::vector<SavedMatrix> read_safetensors(const std::string& path, FileNotes* notes = nullptr);

/// Writes values as a C-ordered .npy array (version 1.0, <f4 or <f8) of the given shape, atomically. Throws
/// SystemError.
void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<double>& values,
               bool fp64);

}  // namespace strobe
