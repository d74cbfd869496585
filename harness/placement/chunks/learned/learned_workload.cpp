#include "harness/placement/chunks/learned/learned_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"

namespace strobe {
namespace {

const std::vector<std::int64_t> hidden_units(3, 256);

std::vector<float> scaled_inputs(const LearnedTime& learned, const std::vector<double>& x) {
  const std::size_t columns = learned.shift.size();
  std::vector<float> rows;
  rows.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % columns;
    rows.push_back(static_cast<float>((std::log1p(x[i]) - learned.shift[c]) * learned.scale[c]));
  }
  return rows;
}

void fit_scale(const std::vector<double>& x, std::size_t rows, LearnedTime& learned) {
  const std::size_t columns = x.size() / rows;
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const double value = std::log1p(x[r * columns + c]);
      sum += value, squares += value * value;
    }
    const double mean = sum / static_cast<double>(rows), variance = squares / static_cast<double>(rows) - mean * mean;
    learned.shift.push_back(mean);
    learned.scale.push_back(variance > 1e-9 ? 1 / std::sqrt(variance) : 0);  // an input that never varied carries no
                                                                             // information
  }
}

[[noreturn]] void refuse_workload(const std::string& message) { throw InvalidRequest("/strategy/workloads", message); }

/// The model without the parameters whose range the file covers.
Json fixed_part(Json model) {
  model.erase("hidden");
  return model;
}

std::string how_to_measure(const WorkloadUse& use) {
  const std::string real = use.device == "cpu" ? "" : " --device " + use.device;
  return fmt::format("; measure one with `strobe calibrate --chunks --model {}{}{}`, or name another file",
                     use.model.at("name").get<std::string>(), use.precision == "fp64" ? " --precision fp64" : "",
                     use.cluster.empty() ? real : " --device sim --cluster " + use.cluster);
}

}  // namespace

std::vector<double> LearnedTime::seconds(const std::vector<double>& x) const {
  const std::vector<float> predicted = predict(mlp, scaled_inputs(*this, x));
  std::vector<double> seconds;
  for (const float value : predicted) seconds.push_back(std::exp(centre) * static_cast<double>(value));
  return seconds;
}

LearnedTime learn_time(const std::vector<double>& x, const std::vector<double>& seconds, const MlpTraining& how) {
  LearnedTime learned;
  fit_scale(x, seconds.size(), learned);
  for (const double value : seconds) learned.centre += std::log(value) / static_cast<double>(seconds.size());
  std::vector<float> wanted;
  for (const double value : seconds) wanted.push_back(static_cast<float>(value / std::exp(learned.centre)));
  learned.mlp = make_mlp<float>(static_cast<std::int64_t>(learned.shift.size()), hidden_units, how.seed);
  train(learned.mlp, scaled_inputs(learned, x), wanted, how);
  return learned;
}

bool lengths_from_beginning(const std::vector<LayerShape>& layers) {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerShape& layer) { return layer.need == TemporalNeed::all; });
}

std::vector<double> workload_inputs(const ChunkSizes& sizes, std::int64_t feature_width,
                                    const std::vector<LayerShape>& layers, const std::string& sequence_length) {
  std::vector<double> inputs{sizes.cells, sizes.edges, static_cast<double>(feature_width)};
  const bool rounds = sequence_length == "rounds", both = rounds || sequence_length == "both";
  if (both || sequence_length == "mean") inputs.push_back(sizes.mean_length);
  if (both || sequence_length == "longest") inputs.push_back(sizes.longest);
  if (rounds) inputs.push_back(sizes.rounds), inputs.push_back(sizes.walked);
  for (const LayerShape& layer : layers) {
    inputs.push_back(static_cast<double>(layer.spatial_width));
    inputs.push_back(static_cast<double>(layer.temporal_width));
  }
  return inputs;
}

std::vector<double> learned_seconds(const LearnedWorkload& learned, const std::vector<ChunkSizes>& chunks,
                                    const WorkloadWidths& widths, bool fixed_once) {
  std::vector<double> x, parts;
  const auto add_row = [&](const ChunkSizes& sizes) {
    const std::vector<double> row = workload_inputs(sizes, widths.features, widths.layers, learned.sequence_length);
    x.insert(x.end(), row.begin(), row.end());
  };
  for (ChunkSizes sizes : chunks) {
    parts.push_back(std::max(1.0, std::ceil(sizes.cells / learned.cells.largest)));
    sizes.cells /= parts.back(), sizes.edges /= parts.back();
    add_row(sizes);
  }
  const double least = learned.cells.smallest;
  add_row({least, least, least, least, 1, least});
  std::vector<double> sum(chunks.size() + 1, 0.0);
  for (const std::optional<LearnedTime>* stage : {&learned.structure, &learned.time}) {
    if (!stage->has_value()) continue;
    const std::vector<double> seconds = (*stage)->seconds(x);
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += seconds[c];
  }
  const double fixed = fixed_once ? sum.back() : 0;
  sum.pop_back();
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] = parts[c] * std::max(sum[c] - fixed, 0.01 * sum[c]);
  return sum;
}

void check_learned(const LearnedWorkload& learned, const WorkloadUse& use, const std::string& file) {
  const auto refuse = [&](const std::string& what, const std::string& has, const std::string& wants) {
    refuse_workload(fmt::format("{} is for {} {}, but the case has {}{}", file, what, has, wants, how_to_measure(use)));
  };
  if (fixed_part(learned.model) != fixed_part(use.model)) refuse("model", learned.model.dump(), use.model.dump());
  if (learned.precision != use.precision) refuse("precision", learned.precision, use.precision);
  if (use.cluster.empty() && learned.device != use.device) refuse("device", learned.device, use.device);
  if (!use.cluster.empty() && learned.cluster != use.cluster) refuse("cluster", learned.cluster, use.cluster);
  const auto in_range = [&](const std::string& what, const LearnedRange& range, double value) {
    if (!range.holds(value))
      refuse(what, fmt::format("{:.0f} to {:.0f}", range.smallest, range.largest), fmt::format("{:.0f}", value));
  };
  if (use.model.contains("hidden")) in_range("hidden", learned.hidden, use.model.at("hidden").get<double>());
  in_range("feature width", learned.feature_width, static_cast<double>(use.feature_width));
}

}  // namespace strobe
