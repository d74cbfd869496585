// `strobe calibrate --chunks`: learns what chunks take, for strategy `chunk` with cost=mlp.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/command.hpp"

namespace strobe {

/// What of `strobe calibrate` is of chunks alone.
struct ChunkOptions {
  bool chunks = false;
  std::string model = "t-gcn", precision = "fp32", cluster, sequence_length = "rounds", chunk_count, most_cells;
  std::vector<std::string> graphs;
};

void define_chunk_options(CommandOptions& options, ChunkOptions& chunks);

/// What it shares with the calibration of a machine.
struct SharedOptions {
  std::string device, name, out;
  bool quick = false, json = false;
};

/// Returns the exit status. Throws InvalidRequest with the option that is to blame.
int calibrate_chunks(const ChunkOptions& chunks, const SharedOptions& shared);

}  // namespace strobe
