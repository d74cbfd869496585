// How much work each chunk is: g_a of DGC's Algorithm 1 (SIGMOD'23, section 4.2), by counting or by what its operations
// compute and move.
#pragma once

#include <string>
#include <vector>

#include "harness/placement/chunks/chunk_graph.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Rates of the device that a chunk's operations are held against; only their ratio decides between chunks. The
/// defaults are a V100's, as backends/clusters/aimos-v100.json states them: sustained arithmetic, measured memory.
struct DeviceRates {
  double flops_per_second_fp32 = 6.7e12, flops_per_second_fp64 = 3.35e12;
  double bytes_per_second = 739e9;
};

/// Seconds of one epoch's operations for each unit of a chunk's size, from the widths of the layers. An operation takes
/// its arithmetic's or its memory's time, whichever is longer (roofline); dense stages count three times, for forward,
/// gradient of the input and of the weights, sums of rows twice. Launches and the reading of weights are left out.
struct UnitSeconds {
  double cell = 0;                     // dense stages, recurrences, writing
  double entry = 0;                    // a non-zero of A in a cell's row, self-loops too
  std::vector<double> earlier_cell{};  // [layers] a cell of its timeline, itself too, that a cell's stage reads
};
UnitSeconds unit_seconds(const std::vector<LayerShape>& layers, bool fp64, const DeviceRates& rates = {});

/// Cells that the `place`-th cell of a sequence reads of it in a layer, itself among them.
std::int64_t cells_read(const LayerShape& layer, std::int64_t place);

/// What `cost_model` counts for whom.
struct CountedDevice {
  const std::vector<LayerShape>& layers;
  bool fp64 = false;
  DeviceRates rates = {};
};

/// Workload of each chunk: [C].
/// - cells: its number of cells.
/// - edges: cells and non-zeros of their rows of A.
/// - cost_model: seconds by `unit_seconds`.
/// Cost O(cells * layers).
std::vector<double> chunk_workloads(const PreparedGraph& graph, const SuperGraph& super, const ChunkGraph& chunks,
                                    const CountedDevice& device, const std::string& cost);

}  // namespace strobe
