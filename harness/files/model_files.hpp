// Files that carry a trained model from one run to another: weights as safetensors, embeddings as NumPy arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/safetensors.hpp"

namespace strobe {

/// Writes matrices as safetensors, atomically: 8-byte little-endian length, JSON header with dtype, shape and offsets,
/// then the values as F32 or F64. The metadata hold `notes`, format = strobe and a digest of all this (strobe_sha256).
/// Throws SystemError.
void write_safetensors(const std::string& path, const std::vector<SavedMatrix>& matrices, bool fp64,
                       const FileNotes& notes = {});

/// Writes values as a C-ordered .npy array (version 1.0, <f4 or <f8) of the given shape, atomically. Throws
/// SystemError.
void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, std::span<const double> values,
               bool fp64);

}  // namespace strobe
