// `strobe calibrate --chunks`: learns the time of chunks, for strategy `chunk` with cost=mlp.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/command.hpp"

namespace strobe {

/// The options of `strobe calibrate` for --chunks only.
struct ChunkOptions {
  bool chunks = false;
  std::string model, precision, cluster, sequence_length, chunk_count, fewest_cells, most_cells,
      dump;  // as typed; "": none
  std::vector<std::string> graphs;
  bool operator==(const ChunkOptions&) const = default;
};

void define_chunk_options(CommandOptions& options, ChunkOptions& chunks);

/// The options that --chunks shares with the calibration of a machine.
struct SharedOptions {
  std::string device, name, out;
  bool quick = false, json = false;
};

/// Returns the exit status. Throws InvalidRequest that names the wrong option.
int calibrate_chunks(const ChunkOptions& chunks, const SharedOptions& shared);

}  // namespace strobe
