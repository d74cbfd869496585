// The workload of each chunk: g_a of DGC's Algorithm 1 (SIGMOD'23, section 4.2). It either counts cells, or estimates
// the time of the chunk's operations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/placement/chunks/chunk_graph.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Rates of the device, to estimate the time of a chunk's operations. Only their ratio decides between chunks. The
/// defaults are those of a V100 in backends/clusters/aimos-v100.json: sustained arithmetic, measured memory.
struct DeviceRates {
  double flops_per_second_fp32 = 6.7e12, flops_per_second_fp64 = 3.35e12;
  double bytes_per_second = 739e9;
};

/// Seconds of one epoch's operations for each unit of a chunk's size, from the widths of the layers.
/// An operation takes the time of its arithmetic or of its memory traffic, whichever is longer (roofline). Dense stages
/// count three times: forward, gradient of the input, gradient of the weights. Sums of rows count twice. Kernel
/// launches and the reading of weights are left out.
struct UnitSeconds {
  double cell = 0;                     // dense stages, recurrences, writing
  double entry = 0;                    // a non-zero of A in a cell's row, self-loops too
  std::vector<double> earlier_cell{};  // [layers] a cell of its timeline, itself too, that a cell's stage reads
};
UnitSeconds unit_seconds(const std::vector<LayerShape>& layers, bool fp64, const DeviceRates& rates = {});

/// Number of cells of a sequence that its `place`-th cell reads in a layer, including itself.
std::int64_t cells_read(const LayerShape& layer, std::int64_t place);

/// The layers and the device that `cost_model` counts for.
struct CountedDevice {
  const std::vector<LayerShape>& layers;
  bool fp64 = false;
  DeviceRates rates = {};
};

/// Workload of each chunk: [C].
/// - cells: its number of cells.
/// - edges: cells and the non-zeros of their rows of A, without self-loops.
/// - cost_model: seconds by `unit_seconds`.
/// Cost O(cells * layers).
std::vector<double> chunk_workloads(const PreparedGraph& graph, const SuperGraph& super, const ChunkGraph& chunks,
                                    const CountedDevice& device, const std::string& cost);

/// The same of every cell alone: [cells]. Under a bound of memory (reading_bound.hpp) a large one lies in a temporary
/// file.
Column<double> cell_workloads(const PreparedGraph& graph, const SuperGraph& super, const CountedDevice& device,
                              const std::string& cost);

/// The same by several processes together, from the cells of a share each. `chunk` is that of the share's cells,
/// `cells` the size of every chunk. Sums of whole numbers, so their number changes nothing. It may differ from
/// chunk_workloads in the last bits.
std::vector<double> workloads_together(const PreparedGraph& graph, const SuperGraphShare& share,
                                       std::span<const std::uint32_t> chunk, std::span<const std::int64_t> cells,
                                       const CountedDevice& device, const std::string& cost,
                                       const ShareHolders& holders);

}  // namespace strobe
