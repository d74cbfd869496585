// Shared parts of generators; see the header for what each returns.
// Cost: draw_distinct O(n log n) for n values; set_step O(N + n); normal_counts O(count) after a fit on at most 4096
// points; the others are linear.
#include "workloads/generators/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

std::atomic<int> chosen_threads{0};

constexpr int step_bits = 21;
static_assert(most_generated_steps < (1 << step_bits));

double normal_probability(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments result;
  for (const double value : values) result.mean += value;
  result.mean /= static_cast<double>(values.size());
  for (const double value : values) result.variance += (value - result.mean) * (value - result.mean);
  result.variance /= static_cast<double>(values.size());
  return result;
}

/// Quantiles at (i + 1/2) / count of the normal distribution (centre, spread) cut off at low and high, ascending.
std::vector<double> cut_normal(std::size_t count, double centre, double spread, double low, double high) {
  const double below = normal_probability((low - centre) / spread),
               above = normal_probability((centre - high) / spread);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    const double p = below + share * (1 - below - above);
    const double bounded = std::clamp(p, 1e-300, 1 - 1e-16);
    values[i] = std::clamp(centre + spread * normal_quantile(bounded), low, high);
  }
  return values;
}

/// Whole numbers with the same running sum as `values`, rounded; each is the value's floor or ceiling.
std::vector<std::int64_t> round_running_sum(const std::vector<double>& values) {
  std::vector<std::int64_t> result;
  result.reserve(values.size());
  double sum = 0;
  std::int64_t given = 0;
  for (const double value : values) {
    sum += value;
    result.push_back(std::llround(sum) - given);
    given += result.back();
  }
  return result;
}

/// Refuses a variance below that of whole numbers with this sum: shares f and 1 - f of the two nearest, f (1 - f).
void check_reachable(std::int64_t count, double mean, double variance, const std::string& where) {
  const double exact = std::round(mean * static_cast<double>(count)) / static_cast<double>(count);
  const double share = exact - std::floor(exact), least = share * (1 - share);
  if (variance >= least * (1 - 1e-9)) return;
  throw InvalidRequest(
      where, fmt::format("whole numbers of mean {} have a variance of at least {:.4g}, not {}", mean, least, variance));
}

/// Where a normal distribution cut off at low and high must lie, and how wide it must be, to have these moments.
struct CutNormal {
  double centre = 0, spread = 0;
};

CutNormal fit_cut_normal(std::size_t points, double mean, double variance, double low, double high,
                         const std::string& where) {
  // A quantile sample lacks the outermost tails, so the fit is to the sample and not to the moments of the formula.
  const double deviation = std::sqrt(variance), widest = 100 * (std::min(high, mean + 1e9) - low);
  CutNormal fit{mean, deviation};
  bool near = false;
  for (int round = 0; round < 2000 && mean >= low && mean <= high; ++round) {
    const Moments found = moments(cut_normal(points, fit.centre, fit.spread, low, high));
    const double mean_error = std::abs(found.mean - mean) / deviation, error = std::abs(found.variance / variance - 1);
    near = mean_error < 0.01 && error < 0.01;
    if ((mean_error < 1e-4 && error < 1e-4) || found.variance <= 0) break;
    fit.centre += mean - found.mean;
    fit.spread = std::min(fit.spread * std::sqrt(variance / found.variance), widest);
  }
  if (near) return fit;
  throw InvalidRequest(where, fmt::format("no normal distribution cut off at {} and {} has mean {} and variance {}",
                                          low, high, mean, variance));
}

/// Whole numbers whose values before rounding have this mean and variance, ascending.
std::vector<std::int64_t> rounded_normal(std::int64_t count, double mean, double variance, double low, double high,
                                         const std::string& where) {
  const std::size_t size = count;
  std::vector<double> values(size, mean);
  if (mean < low || mean > high)
    throw InvalidRequest(where, fmt::format("the mean {} is not within {} and {}", mean, low, high));
  if (variance > 0) {
    const CutNormal fit = fit_cut_normal(std::min<std::size_t>(size, 4096), mean, variance, low, high, where);
    values = cut_normal(size, fit.centre, fit.spread, low, high);
  }
  const double shift = mean - moments(values).mean;
  for (double& value : values) value += shift;
  std::vector<std::int64_t> counts = round_running_sum(values);
  for (std::int64_t& number : counts) {
    // Values at the very border may have been shifted or rounded across it.
    number = static_cast<std::int64_t>(std::clamp(static_cast<double>(number), std::ceil(low), std::floor(high)));
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

}  // namespace

void set_generator_threads(int threads) { chosen_threads = threads; }

int generator_threads() {
  const int chosen = chosen_threads;
  return chosen > 0 ? chosen : usable_cores();
}

RandomStream generator_stream(std::uint64_t seed, std::uint32_t channel, std::int64_t step) {
  return {seed, random_purpose::generator, (channel << step_bits) | static_cast<std::uint32_t>(step)};
}

KeyedPermutation::KeyedPermutation(std::uint64_t size, const RandomStream& random) : size_(size) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(size > 0 ? size - 1 : 0)));
  mask_ = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  shift_ = (bits + 1) / 2;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    added_[round] = random.bits(2 * round);
    odd_[round] = random.bits(2 * round + 1) | 1;
  }
}

std::uint64_t KeyedPermutation::operator()(std::uint64_t position) const {
  std::uint64_t value = position;
  do {
    for (int round = 0; round < rounds; ++round) {
      value = ((value + added_[round]) * odd_[round]) & mask_;
      value ^= value >> shift_;
    }
  } while (value >= size_);
  return value;
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
           (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
  }
  double r = std::sqrt(-std::log(q < 0 ? p : 1 - p)), value = 0;
  if (r <= 5) {
    r -= 1.6;
    value = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
            ((0.12021132975 * r + 0.73700164250) * r + 1.0);
  } else {
    r -= 5;
    value = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
            ((0.012258202635 * r + 0.24197894225) * r + 1.0);
  }
  return q < 0 ? -value : value;
}

std::vector<std::int64_t> normal_counts(std::int64_t count, double mean, double variance, double low, double high,
                                        const std::string& where) {
  check_reachable(count, mean, variance, where);
  const auto counts_of = [&](double before_rounding) {
    return rounded_normal(count, mean, before_rounding, low, high, where);
  };
  const auto error_of = [&](const std::vector<std::int64_t>& counts) {
    return moments({counts.begin(), counts.end()}).variance - variance;
  };
  if (variance == 0) return counts_of(0);
  // Rounding a smooth distribution adds 1/6 to the variance. A narrow distribution consists of rounding, so its
  // addition is found by bisection.
  const double guess = variance - 1.0 / 6;
  std::vector<std::int64_t> best = counts_of(guess > 0.5 ? guess : variance);
  double error = error_of(best), above = variance, below = 0;
  for (int round = 0; round < 40 && std::abs(error) > 1e-3 * variance; ++round) {
    const double middle = round == 0 && guess > 0 ? guess : (above + below) / 2;
    std::vector<std::int64_t> counts = counts_of(middle);
    const double found = error_of(counts);
    (found > 0 ? above : below) = middle;
    if (std::abs(found) >= std::abs(error)) continue;
    best = std::move(counts);
    error = found;
  }
  return best;
}

std::vector<std::int64_t> apportion(std::int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> result;
  result.reserve(weights.size());
  double reached = 0;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    reached += weights[i];
    const bool last = i + 1 == weights.size();
    const std::int64_t up_to = last ? total : std::llround(static_cast<double>(total) * (reached / sum));
    result.push_back(up_to - given);
    given = up_to;
  }
  return result;
}

std::vector<std::int64_t> edges_to_keep(const std::vector<std::int64_t>& sizes, double overlap,
                                        const std::string& where) {
  std::vector<std::int64_t> kept(sizes.size(), 0);
  std::vector<std::size_t> order;
  for (std::size_t t = 1; t < sizes.size(); ++t) {
    if (sizes[t] > 0) order.push_back(t);
  }
  // From the smallest step to the largest, whose edges are the finest coins to settle the account with.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  double owed = 0, finest = 0;  // finest: edges of the largest step that could keep more
  const auto settle = [&](std::size_t t, double rounding) {
    const double size = sizes[t];
    const std::int64_t room = std::min(sizes[t], sizes[t - 1]) - kept[t];
    const auto wanted = static_cast<std::int64_t>(std::floor(owed * size + rounding));
    const std::int64_t more = std::clamp<std::int64_t>(wanted, 0, room);
    kept[t] += more;
    owed -= static_cast<double>(more) / size;
    if (more < room) finest = size;
  };
  for (const std::size_t t : order) {
    owed += overlap;
    settle(t, 0.5);
  }
  finest = 0;
  // Moves what the largest steps had no room for to steps that have room.
  for (const std::size_t t : order) settle(t, 1e-9);
  if (!order.empty() && owed * (finest > 0 ? finest : 2 * static_cast<double>(sizes[order.back()])) > 1 + 1e-6) {
    throw InvalidRequest(where, fmt::format("steps grow too fast for a mean overlap of {}; {:.6g} is the most", overlap,
                                            overlap - owed / static_cast<double>(order.size())));
  }
  return kept;
}

std::uint64_t draw_distinct(std::vector<std::uint64_t>& values, std::size_t count,
                            const std::vector<std::uint64_t>& without,
                            const std::function<std::uint64_t(std::uint64_t)>& draw, Workers* workers,
                            const std::string& where) {
  std::uint64_t drawn = 0;
  std::vector<std::uint64_t> batch, merged;
  for (int round = 0; values.size() < count; ++round) {
    if (round == 1000) throw InvalidRequest(where, fmt::format("{} distinct edges could not be found", count));
    // Drawing exactly the shortfall keeps the result independent of batching.
    batch.resize(count - values.size());
    for_each_piece(workers, batch.size(), [&](std::uint64_t first, std::uint64_t last) {
      for (std::uint64_t i = first; i < last; ++i) batch[i] = draw(drawn + i);
    });
    drawn += batch.size();
    std::sort(batch.begin(), batch.end());
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    if (!batch.empty() && batch.back() == no_edge) batch.pop_back();
    merged.clear();
    std::set_difference(batch.begin(), batch.end(), without.begin(), without.end(), std::back_inserter(merged));
    batch.clear();
    std::set_union(values.begin(), values.end(), merged.begin(), merged.end(), std::back_inserter(batch));
    values.swap(batch);
  }
  return drawn;
}

void for_each_piece(Workers* workers, std::uint64_t count,
                    const std::function<void(std::uint64_t, std::uint64_t)>& task) {
  constexpr std::uint64_t piece = 8192;
  if (workers == nullptr || count <= piece) {
    if (count > 0) task(0, count);
    return;
  }
  workers->run(static_cast<std::int64_t>((count + piece - 1) / piece), [&](std::int64_t i) {
    const std::uint64_t first = static_cast<std::uint64_t>(i) * piece;
    task(first, std::min(first + piece, count));
  });
}

void check_generated_size(std::int64_t vertices, std::int64_t steps, double edges, double extra_bytes,
                          const std::string& edge_parameter) {
  const double cells = static_cast<double>(vertices) * static_cast<double>(steps);
  const double cell_bytes = cells * (sizeof(std::int64_t) + 2 * sizeof(float) + 1);  // offsets, features, a label
  const double bytes = cell_bytes + edges * (sizeof(VertexId) + sizeof(float)) + extra_bytes;
  const double memory = usable_memory_bytes();
  if (bytes <= memory) return;
  throw InvalidRequest(
      cell_bytes > memory ? "/vertices" : edge_parameter,
      fmt::format("{} steps of {} vertices with {:.3g} edges in all need {}, this machine has {}", format_count(steps),
                  format_count(vertices), edges, format_bytes(bytes), format_bytes(memory)));
}

SnapshotGraph start_graph(const std::string& generator, const FieldTable& fields, const Json& parameters,
                          std::uint64_t seed, std::int64_t vertices, std::int64_t steps) {
  SnapshotGraph graph;
  graph.vertices = vertices;
  graph.feature_width = 2;
  graph.degree_features = true;
  graph.provenance.name = generator;
  graph.provenance.format = "generated";
  graph.provenance.source = fmt::format("{} {} seed {}", generator, fields.complete(parameters, "").dump(), seed);
  graph.snapshots.resize(steps);
  graph.features.assign(static_cast<std::size_t>(steps) * static_cast<std::size_t>(vertices) * 2, 0.0f);
  return graph;
}

void set_step(SnapshotGraph& graph, std::int64_t t, std::span<const std::uint64_t> codes) {
  const auto vertices = static_cast<std::size_t>(graph.vertices), step = static_cast<std::size_t>(t);
  float* features = graph.features.edit().data() + step * vertices * 2;
  // Sums of whole numbers are exact in fp32 up to 2^24; only a larger step can have a larger degree.
  std::vector<std::int64_t> degrees(codes.size() > (std::size_t{1} << 24) ? 2 * vertices : 0, 0);
  std::vector<std::int64_t> row_offsets(vertices + 1, 0);
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) distinct += i == 0 || codes[i] != codes[i - 1];
  std::vector<VertexId> columns;
  std::vector<float> values;
  columns.reserve(distinct);
  values.reserve(distinct);
  for (std::size_t i = 0; i < codes.size();) {
    const std::size_t first = i, row = codes[i] >> 32, column = codes[i] & 0xFFFFFFFFu;
    while (i < codes.size() && codes[i] == codes[first]) ++i;
    const auto number = static_cast<float>(i - first);
    columns.push_back(static_cast<VertexId>(column));
    values.push_back(number);
    ++row_offsets[row + 1];
    if (degrees.empty()) {
      features[2 * row] += number;
      features[2 * column + 1] += number;
    } else {
      degrees[2 * row] += static_cast<std::int64_t>(i - first);
      degrees[2 * column + 1] += static_cast<std::int64_t>(i - first);
    }
  }
  std::transform(degrees.begin(), degrees.end(), features,
                 [](std::int64_t degree) { return static_cast<float>(degree); });
  for (std::size_t v = 0; v < vertices; ++v) row_offsets[v + 1] += row_offsets[v];
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->row_offsets = std::move(row_offsets);
  snapshot->columns = std::move(columns);
  snapshot->values = std::move(values);
  graph.snapshots[step] = std::move(snapshot);
}

}  // namespace strobe
