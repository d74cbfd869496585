// Differentiable batch normalisation and dropout over the cells of snapshots.
#pragma once

#include "models/tape/pass.hpp"

namespace strobe {

/// Elements that all ranks sum for each step in one batch_norm of `width` features.
inline std::int64_t batch_norm_sums(std::int64_t width) { return 2 * width; }

/// gain (x - mean) / sqrt(variance + 1e-5) + shift, with the mean and the biased variance of each step over all N
/// vertices (Ioffe and Szegedy, ICML'15). The same in training and in evaluation: a full batch needs no running
/// averages. x [R, F] holds the rows `cells`, gain and shift [1, F]. All ranks must call it.
Var batch_norm(Tape& tape, const Var& x, const Var& gain, const Var& shift, const CellRows& cells, const Pass& pass);

/// x / (1 - rate) where a feature is kept, 0 where it is dropped, by (pass.seed, pass.epoch, layer, cell, feature); x
/// itself at rate 0 and in evaluation.
Var dropout(Tape& tape, const Var& x, double rate, int layer, const CellRows& cells, const Pass& pass);

}  // namespace strobe
