#include "harness/calibration/chunks/chunk_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "harness/calibration/chunks/chunk_plan.hpp"
#include "harness/calibration/chunks/chunk_times.hpp"
#include "harness/calibration/chunks/random_chunks.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t chunk_draws = 52;     // purpose of a random stream
constexpr std::int64_t between_repeats = 25;  // one chunk in this number is measured twice

/// Measured chunks, [n] each.
struct MeasuredChunks {
  std::vector<double> inputs;  // [n, columns]
  std::vector<double> structure, time, cells, edges, modelled;
  std::vector<std::int64_t> source;   // the one it was cut from
  std::vector<double> repeat_errors;  // of chunks that were measured twice
  std::int64_t left_out = 0;

  std::size_t count() const { return cells.size(); }
};

/// Rows [n, width], each repeated `copies` times side by side.
template <class T>
std::vector<T> tiled(const Column<T>& rows, std::int64_t width, std::int64_t copies) {
  std::vector<T> wide;
  wide.reserve(rows.size() * static_cast<std::size_t>(copies));
  for (auto row = rows.begin(); row != rows.end(); row += width) {
    for (std::int64_t i = 0; i < copies; ++i) wide.insert(wide.end(), row, row + width);
  }
  return wide;
}

FullBatchCase planned_source(const ChunkSource& source, const DataCache& cache) {
  FullBatchCase planned = begin_full_batch(source.request, PlanUse::run, cache);
  if (!planned.data.graph->has_structure()) {
    throw InvalidRequest("--graph", source.request.workload.at("name").get<std::string>() +
                                        " is a shape: statistics without a graph, so it has no chunks; name a graph");
  }
  if (source.feature_copies == 1) return planned;
  auto wide = std::make_shared<PreparedGraph>(*planned.data.graph);
  const std::int64_t width = wide->feature_width, copies = source.feature_copies;
  wide->features32 = tiled(wide->features32, width, copies), wide->features64 = tiled(wide->features64, width, copies);
  wide->products32 = tiled(wide->products32, width, copies), wide->products64 = tiled(wide->products64, width, copies);
  wide->feature_width = width * copies;
  planned.data.graph = wide;
  planned.model = plan_model(source.request, planned.model, planned.model.feature_width * copies);
  return planned;
}

/// The chunks of one graph at one width.
class MeasuredGraph {
 public:
  MeasuredGraph(const ChunkCalibration& how, std::int64_t source, const DataCache& cache)
      : how_(how),
        source_(source),
        case_(planned_source(how.sources[source], cache)),
        super_(super_graph(*case_.data.graph, {1, {{1, 1, 0}}, 0})),
        cells_(*case_.data.graph, super_, lengths_from_beginning(case_.model.layers)),
        grower_(super_),
        bench_(how.sources[source].request) {
    if (case_.request.cluster.empty()) return;
    const GpuModel gpu = load_cluster(case_.request.cluster)->gpu;
    rates_ = {gpu.flops_fp32_per_second, gpu.flops_fp64_per_second, gpu.memory_bytes_per_second};
  }

  const FullBatchCase& planned() const { return case_; }

  /// Adds `wanted` chunks that take long enough. Gives up after trying five times that number.
  void add(std::int64_t wanted, MeasuredChunks& all) {
    const auto key = static_cast<std::uint32_t>(source_);
    std::int64_t added = 0;
    std::vector<std::pair<std::vector<NodeId>, double>> again;
    for (std::int64_t i = 0; added < wanted && i < 5 * wanted; ++i) {
      if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
      const RandomStream choice(how_.training.seed, chunk_draws, key);
      const std::vector<NodeId> nodes = draw(choice, static_cast<std::uint64_t>(i), key);
      const StageSeconds seconds = bench_.measure(*plan_chunk_alone(case_, cells_, nodes), how_.runs);
      if (seconds.sum() < how_.shortest_seconds) {
        ++all.left_out;
        continue;
      }
      if (added++ % between_repeats == 0) again.emplace_back(nodes, seconds.sum());
      keep(nodes, seconds, all);
    }
    for (const auto& [nodes, first] : again) {
      const double second = bench_.measure(*plan_chunk_alone(case_, cells_, nodes), how_.runs).sum();
      all.repeat_errors.push_back(std::abs(second / first - 1));
    }
  }

 private:
  std::vector<NodeId> draw(const RandomStream& choice, std::uint64_t i, std::uint32_t key) {
    const double least = std::log(static_cast<double>(how_.fewest_cells));
    const double most = std::log(static_cast<double>(std::min(how_.most_cells, super_.nodes())));
    const double cells = std::exp(least + (most - least) * choice.uniform(2 * i));
    // Rounding must not remove a cell when all chunks have one size.
    const ChunkDraw draw{static_cast<std::int64_t>(cells * (1 + 1e-12)), choice.uniform(2 * i + 1)};
    return grower_.grow(draw, RandomStream(how_.training.seed + 1 + i, chunk_draws, key));
  }

  void keep(const std::vector<NodeId>& nodes, const StageSeconds& seconds, MeasuredChunks& all) const {
    const ChunkSizes sizes = cells_(nodes);
    const std::vector<double> inputs =
        workload_inputs(sizes, case_.data.graph->feature_width, case_.model.layers, how_.sequence_length);
    all.inputs.insert(all.inputs.end(), inputs.begin(), inputs.end());
    all.structure.push_back(seconds.structure), all.time.push_back(seconds.time);
    all.cells.push_back(sizes.cells), all.edges.push_back(sizes.cells + sizes.edges);
    all.modelled.push_back(modelled_seconds(nodes, sizes));
    all.source.push_back(source_);
  }

  /// The `cost_model` at the rates of the measured cluster, or of a V100.
  double modelled_seconds(const std::vector<NodeId>& nodes, const ChunkSizes& sizes) const {
    const UnitSeconds unit = unit_seconds(case_.model.layers, case_.model.fp64, rates_);
    double seconds = unit.cell * sizes.cells + unit.entry * sizes.edges;
    for (std::size_t l = 0; l < unit.earlier_cell.size(); ++l) {
      for (const NodeId node : nodes) {
        seconds += unit.earlier_cell[l] *
                   static_cast<double>(cells_read(case_.model.layers[l], node - cells_.sequence(node).first));
      }
    }
    return seconds;
  }

  const ChunkCalibration& how_;
  std::int64_t source_;
  FullBatchCase case_;
  SuperGraph super_;
  SizedCells cells_;
  ChunkGrower grower_;
  ChunkBench bench_;
  DeviceRates rates_;
};

/// All chunks in a seeded order, so that held-out chunks come from all graphs.
std::vector<std::size_t> drawn_order(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const RandomStream random(seed, chunk_draws, 0xffff);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

MeasuredChunks in_order(const MeasuredChunks& all, const std::vector<std::size_t>& order) {
  MeasuredChunks part;
  const std::size_t columns = all.inputs.size() / all.count();
  for (const std::size_t i : order) {
    part.inputs.insert(part.inputs.end(), all.inputs.begin() + static_cast<std::ptrdiff_t>(i * columns),
                       all.inputs.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
    part.structure.push_back(all.structure[i]), part.time.push_back(all.time[i]);
    part.cells.push_back(all.cells[i]), part.edges.push_back(all.edges[i]), part.modelled.push_back(all.modelled[i]);
    part.source.push_back(all.source[i]);
  }
  return part;
}

/// The MLP of a stage; none if no chunk spends time in that stage.
std::optional<LearnedTime> learned_stage(const MeasuredChunks& chunks, const std::vector<double>& seconds,
                                         const MlpTraining& how) {
  const std::size_t columns = chunks.inputs.size() / chunks.count();
  std::vector<double> x, y;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i] <= 0) continue;
    y.push_back(seconds[i]);
    x.insert(x.end(), chunks.inputs.begin() + static_cast<std::ptrdiff_t>(i * columns),
             chunks.inputs.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  }
  if (y.empty()) return std::nullopt;
  return learn_time(x, y, how);
}

std::vector<double> relative_errors(const std::vector<double>& predicted, const std::vector<double>& measured) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (measured[i] > 0) errors.push_back(std::abs(predicted[i] / measured[i] - 1));
  return errors;
}

std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

void judge(const MeasuredChunks& held_out, LearnedChunks& result) {
  const std::vector<double> measured = sums(held_out.structure, held_out.time);
  std::vector<double> predicted(measured.size(), 0.0);
  const auto stage = [&](const std::optional<LearnedTime>& learned, const std::vector<double>& seconds) {
    if (!learned) return 0.0;
    const std::vector<double> own = learned->seconds(held_out.inputs);
    predicted = sums(predicted, own);
    return mean(relative_errors(own, seconds));
  };
  result.structure_error = stage(result.learned.structure, held_out.structure);
  result.time_error = stage(result.learned.time, held_out.time);
  const std::vector<double> errors = relative_errors(predicted, measured);
  result.errors.push_back({"mlp", mean(errors), median(errors), 1});
  for (std::size_t i = 0; i < measured.size(); ++i) {
    result.chunks.push_back({held_out.source[i], held_out.cells[i], held_out.edges[i] - held_out.cells[i],
                             held_out.structure[i], held_out.time[i], predicted[i]});
  }
  const std::vector<std::pair<std::string, const std::vector<double>*>> counted{
      {"cost_model", &held_out.modelled}, {"cells", &held_out.cells}, {"edges", &held_out.edges}};
  for (const auto& [cost, numbers] : counted) {
    result.errors.push_back(best_factor(*numbers, measured));
    result.errors.back().cost = cost;
  }
}

void widen(LearnedRange& range, double value, bool first) {
  range = first ? LearnedRange{value, value}
                : LearnedRange{std::min(range.smallest, value), std::max(range.largest, value)};
}

MeasuredChunks measure_all(const ChunkCalibration& how, LearnedWorkload& learned) {
  MeasuredChunks all;
  const std::int64_t sources = how.sources.size();
  const std::int64_t wanted = how.trained + how.held_out;
  const DataCache cache;
  for (std::int64_t i = 0; i < sources; ++i) {
    const ChunkSource& source = how.sources[i];
    MeasuredGraph graph(how, i, cache);
    const std::size_t before = all.count();
    graph.add(wanted * (i + 1) / sources - wanted * i / sources, all);
    widen(learned.hidden, source.request.model.value("hidden", 0.0), i == 0);
    widen(learned.feature_width, static_cast<double>(graph.planned().data.graph->feature_width), i == 0);
    double seconds = 0;
    for (std::size_t c = before; c < all.count(); ++c) seconds += all.structure[c] + all.time[c];
    const double chunks = std::max<std::size_t>(1, all.count() - before);
    if (how.measured) how.measured(case_id(source.request), seconds / chunks);
  }
  return all;
}

}  // namespace

ChunkError best_factor(const std::vector<double>& predicted, const std::vector<double>& measured) {
  // The error is the sum of |factor - m / p| weighted with p / m, so the best factor is their weighted median.
  std::vector<std::pair<double, double>> ratios;
  double total = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (predicted[i] <= 0 || measured[i] <= 0) continue;
    ratios.emplace_back(measured[i] / predicted[i], predicted[i] / measured[i]);
    total += ratios.back().second;
  }
  std::sort(ratios.begin(), ratios.end());
  double factor = 1, passed = 0;
  for (const auto& [ratio, weight] : ratios) {
    factor = ratio, passed += weight;
    if (passed >= total / 2) break;
  }
  std::vector<double> scaled;
  for (const double value : predicted) scaled.push_back(factor * value);
  const std::vector<double> errors = relative_errors(scaled, measured);
  return {"", mean(errors), median(errors), factor};
}

LearnedChunks learn_chunks(const ChunkCalibration& how) {
  LearnedChunks result;
  LearnedWorkload& learned = result.learned;
  const Case& any = how.sources.front().request;
  learned.model = any.model, learned.device = any.device, learned.precision = any.precision;
  learned.sequence_length = how.sequence_length;
  const MeasuredChunks all = measure_all(how, learned);
  result.left_out = all.left_out, result.repeat_error = mean(all.repeat_errors);
  const std::size_t held = how.held_out;
  if (all.count() < 2 * held) {
    throw InvalidRequest(
        "--most-cells",
        fmt::format("only {} of {} chunks took {:.0f} us or more; raise --fewest-cells or --most-cells", all.count(),
                    all.count() + static_cast<std::size_t>(all.left_out), 1e6 * how.shortest_seconds));
  }
  const std::vector<std::size_t> order = drawn_order(all.count(), how.training.seed);
  const auto border = order.begin() + static_cast<std::ptrdiff_t>(held);
  const MeasuredChunks held_out = in_order(all, {order.begin(), border}),
                       training = in_order(all, {border, order.end()});
  result.trained = static_cast<std::int64_t>(training.count()), result.held_out = how.held_out;
  learned.structure = learned_stage(training, training.structure, how.training);
  learned.time = learned_stage(training, training.time, how.training);
  const auto [fewest, most] = std::minmax_element(training.cells.begin(), training.cells.end());
  learned.cells = {*fewest, *most};
  const std::vector<double> seconds = sums(all.structure, all.time);
  result.shortest_seconds = *std::min_element(seconds.begin(), seconds.end());
  result.longest_seconds = *std::max_element(seconds.begin(), seconds.end());
  result.median_seconds = median(seconds);
  judge(held_out, result);
  return result;
}

}  // namespace strobe
