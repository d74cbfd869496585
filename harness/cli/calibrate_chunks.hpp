// `strobe calibrate --chunks`: learns what chunks take, for strategy `chunk` with cost=mlp.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/command.hpp"

namespace strobe {

/// What of `strobe calibrate` is of chunks alone.
struct ChunkOptions {
  bool chunks = false;
  std::string model, precision, cluster, sequence_length, chunk_count, fewest_cells, most_cells,
      dump;  // as typed; "": none
  std::vector<std::string> graphs;
  bool operator==(const ChunkOptions&) const = default;
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
