#include "harness/placement/chunks/chunk_workload.hpp"

#include <algorithm>

namespace strobe {
namespace {

/// Time of operations by arithmetic or memory, whichever takes longer.
class RooflineTime {
 public:
  RooflineTime(bool fp64, const DeviceRates& rates)
      : flops_(fp64 ? rates.flops_per_second_fp64 : rates.flops_per_second_fp32),
        bytes_(rates.bytes_per_second),
        element_(fp64 ? 8 : 4) {}
  /// Moves `values` elements, and `bytes` more.
  double seconds(double flops, double values, double bytes = 0) const {
    return std::max(flops / flops_, (values * element_ + bytes) / bytes_);
  }

 private:
  double flops_, bytes_, element_;
};

constexpr double dense_passes = 3, sum_passes = 2, index_bytes = 4;

/// An LSTM computes four gates, a GRU three, of its input and its state.
double recurrent_cell(const RooflineTime& roofline, const LayerShape& layer) {
  const double rows = layer.recurrent_state.rows_per_vertex;
  const double width = layer.recurrent_state.width;
  const double gates = rows < 2 ? 3 : 4, stacked = std::max(1.0, rows / 2);
  const double inputs = layer.spatial_width;
  const double flops = 2 * gates * width * (inputs + width + (stacked - 1) * 2 * width);
  return dense_passes * roofline.seconds(flops, inputs + stacked * (gates + 2) * width);
}

void add_spatial(const RooflineTime& roofline, const LayerShape& layer, UnitSeconds& unit) {
  const auto add_product = [&](std::int64_t columns) {
    const double width = columns;
    unit.entry += sum_passes * roofline.seconds(2 * width, width + 1, index_bytes);
    unit.cell += sum_passes * roofline.seconds(0, width);
  };
  if (layer.reads_neighbours) add_product(layer.input_width);
  for (const StepProduct& product : layer.products) add_product(product.width);
  const auto input = static_cast<double>(layer.input_width), output = static_cast<double>(layer.spatial_width);
  if (!layer.step_by_step) unit.cell += dense_passes * roofline.seconds(2 * input * output, input + output);
}

void add_temporal(const RooflineTime& roofline, const LayerShape& layer, UnitSeconds& unit) {
  const double width = layer.spatial_width;
  double earlier = 0;
  if (layer.need == TemporalNeed::recurrent || layer.step_by_step) unit.cell += recurrent_cell(roofline, layer);
  if (layer.need == TemporalNeed::window) {
    earlier = sum_passes * roofline.seconds(2 * width, width);
    unit.cell += sum_passes * roofline.seconds(0, width);
  } else if (layer.need == TemporalNeed::all) {  // query, key, value and output; a logit and a term of the sum each
    earlier = dense_passes * roofline.seconds(4 * width, 2 * width);
    unit.cell += dense_passes * roofline.seconds(8 * width * width, 8 * width);
  }
  unit.earlier_cell.push_back(earlier);
}

/// Non-zeros of a cell's row. `edges` leaves out the self-loop, which is no edge.
std::int64_t entries_of(const PreparedGraph& graph, VertexId v, Step t, bool edges) {
  const std::int64_t* const row = graph.row_offsets.data() + t * graph.vertices + v;
  const VertexId* const columns = graph.columns.data();
  return row[1] - row[0] - (edges && std::binary_search(columns + row[0], columns + row[1], v) ? 1 : 0);
}

/// add(node, seconds) of the entries of each cell, then of the earlier cells that each reads, layer by layer.
template <class Add>
void add_reads(const PreparedGraph& graph, const SuperGraph& super, const std::vector<LayerShape>& layers,
               const UnitSeconds& unit, bool edges, const Add& add) {
  if (unit.entry > 0) {
    for_cells(graph, [&](NodeId node, VertexId v, Step t) {
      add(node, unit.entry * static_cast<double>(entries_of(graph, v, t, edges)));
    });
  }
  for (std::size_t l = 0; l < unit.earlier_cell.size(); ++l) {
    if (unit.earlier_cell[l] == 0) continue;
    for (const NodeSequence& sequence : super.sequences) {
      for (std::uint32_t place = 0; place < sequence.count; ++place)
        add(sequence.first + place, unit.earlier_cell[l] * static_cast<double>(cells_read(layers[l], place)));
    }
  }
}

}  // namespace

std::int64_t cells_read(const LayerShape& layer, std::int64_t place) {
  if (layer.need == TemporalNeed::window) return std::min(layer.window, place + 1);
  return layer.need == TemporalNeed::all ? place + 1 : 0;
}

UnitSeconds unit_seconds(const std::vector<LayerShape>& layers, bool fp64, const DeviceRates& rates) {
  const RooflineTime roofline(fp64, rates);
  UnitSeconds unit;
  for (const LayerShape& layer : layers) {
    add_spatial(roofline, layer, unit);
    add_temporal(roofline, layer, unit);
  }
  return unit;
}

namespace {

UnitSeconds unit_of(const CountedDevice& device, const std::string& cost) {
  if (cost == "cost_model") return unit_seconds(device.layers, device.fp64, device.rates);
  return {1, cost == "edges" ? 1.0 : 0.0};
}

}  // namespace

std::vector<double> chunk_workloads(const PreparedGraph& graph, const SuperGraph& super, const ChunkGraph& chunks,
                                    const CountedDevice& device, const std::string& cost) {
  const UnitSeconds unit = unit_of(device, cost);
  std::vector<double> workload;
  for (const std::int64_t cells : chunks.cells) workload.push_back(unit.cell * static_cast<double>(cells));
  add_reads(graph, super, device.layers, unit, cost == "edges",
            [&](NodeId node, double seconds) { workload[chunks.of_node[node]] += seconds; });
  return workload;
}

Column<double> cell_workloads(const PreparedGraph& graph, const SuperGraph& super, const CountedDevice& device,
                              const std::string& cost) {
  const UnitSeconds unit = unit_of(device, cost);
  GrowingColumn<double> workload(super.nodes(), reading_bound());
  std::fill(workload.begin(), workload.end(), unit.cell);
  add_reads(graph, super, device.layers, unit, cost == "edges",
            [&](NodeId node, double seconds) { workload[node] += seconds; });
  return workload.finish();
}

std::vector<double> workloads_together(const PreparedGraph& graph, const SuperGraphShare& share,
                                       std::span<const std::uint32_t> chunk, std::span<const std::int64_t> cells,
                                       const CountedDevice& device, const std::string& cost,
                                       const ShareHolders& holders) {
  const UnitSeconds unit = unit_of(device, cost);
  const std::size_t chunks = cells.size();
  std::vector<double> seconds{unit.entry};
  seconds.insert(seconds.end(), unit.earlier_cell.begin(), unit.earlier_cell.end());
  std::vector<std::int64_t> counts(seconds.size() * chunks, 0);  // entries, then the cells read in each layer
  holders.together([&] {
    for_cells(graph, share.vertices, [&](NodeId node, VertexId v, Step t) {
      counts[chunk[node]] += entries_of(graph, v, t, cost == "edges");
    });
    for (std::size_t l = 0; l < unit.earlier_cell.size(); ++l) {
      for (const NodeSequence& sequence : share.graph.sequences)
        for (std::uint32_t place = 0; place < sequence.count; ++place)
          counts[(l + 1) * chunks + chunk[sequence.first + place]] += cells_read(device.layers[l], place);
    }
  });
  counts = holders.sums(counts);
  std::vector<double> workload;
  for (std::size_t c = 0; c < chunks; ++c) {
    workload.push_back(unit.cell * static_cast<double>(cells[c]));
    for (std::size_t i = 0; i < seconds.size(); ++i)
      workload.back() += seconds[i] * static_cast<double>(counts[i * chunks + c]);
  }
  return workload;
}

}  // namespace strobe
