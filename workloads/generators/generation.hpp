// Shared parts of the generators: keyed random numbers, exact apportionment, and the assembly of snapshots from edge
// lists. Everything here is a function of its arguments: results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "core/system/parallel.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

/// Threads that generators use; 0 = one per core, which is the start value. Graphs are the same for every number.
void set_generator_threads(int threads);
int generator_threads();

/// Most steps of a generated graph; keys of `generator_stream` leave room for that many.
inline constexpr double most_generated_steps = 1e6;

/// The random stream of (seed, channel, step): a generator takes one channel, below 2048, for each use of randomness.
RandomStream generator_stream(std::uint64_t seed, std::uint32_t channel, std::int64_t step = 0);

/// A random bijection of [0, size) with random access in O(1) expected time and no memory. It works on the next power
/// of two: rounds of a keyed add, a multiplication by a keyed odd number and a xor-shift. It repeats them until the
/// value lies below size.
class KeyedPermutation {
 public:
  /// Takes the first values of `random` as its keys. `size` may be 0 when no value is requested.
  KeyedPermutation(std::uint64_t size, const RandomStream& random);
  std::uint64_t operator()(std::uint64_t position) const;
  std::uint64_t size() const { return size_; }

 private:
  static constexpr int rounds = 6;
  std::uint64_t size_, mask_;
  int shift_;
  std::uint64_t added_[rounds], odd_[rounds];
};

/// x with P(Z <= x) = p for a standard normal Z, 0 < p < 1, to 1e-6 relative (Wichura 1988, algorithm AS 241, PPND7).
double normal_quantile(double p);

/// `count` whole numbers in [low, high], ascending, that follow a normal distribution cut off at low and high. Their
/// own mean and variance, after rounding, are those given. The sum is exact, the variance is exact to 1 %, or as near
/// as so small a count allows. Throws InvalidRequest(where, ...) when no such distribution has this mean and variance,
/// and for a variance that whole numbers of this mean cannot have.
std::vector<std::int64_t> normal_counts(std::int64_t count, double mean, double variance, double low, double high,
                                        const std::string& where);

/// Whole numbers that sum to `total` in proportion to `weights` (not all zero), each within 1 of its share.
std::vector<std::int64_t> apportion(std::int64_t total, const std::vector<double>& weights);

/// The number of edges that each step keeps of the step before ([T], 0 for step 0). The mean over t >= 1 of kept[t] /
/// sizes[t] is `overlap`, as near as whole edges allow: to half an edge of the largest step (one, where steps are
/// full), divided by T - 1. `sizes` are edges per step. Throws InvalidRequest(where, ...) when steps grow too fast for
/// it.
std::vector<std::int64_t> edges_to_keep(const std::vector<std::int64_t>& sizes, double overlap,
                                        const std::string& where);

/// An edge as a number that sorts by row: the row (target) in the upper, the column (source) in the lower half.
inline std::uint64_t edge_code(std::uint64_t target, std::uint64_t source) { return (target << 32) | source; }
inline constexpr std::uint64_t no_edge = ~std::uint64_t{0};

/// Adds to the ascending, distinct `values` until there are `count`. Added are the first distinct values of draw(0),
/// draw(1), ... that are not there already, not in the ascending `without`, and not `no_edge`. Returns the number of
/// draws. Throws InvalidRequest(where, ...) after 1000 rounds, which only a request for nearly all existing values
/// needs.
std::uint64_t draw_distinct(std::vector<std::uint64_t>& values, std::size_t count,
                            const std::vector<std::uint64_t>& without,
                            const std::function<std::uint64_t(std::uint64_t)>& draw, Workers* workers,
                            const std::string& where);

/// Calls task(first, last) for consecutive pieces of [0, count) on the threads of `workers` (nullptr: on this one).
void for_each_piece(Workers* workers, std::uint64_t count,
                    const std::function<void(std::uint64_t, std::uint64_t)>& task);

/// Refuses, before anything is allocated, a graph that this machine's memory cannot hold: InvalidRequest("/vertices",
/// ...) when its cells alone are too many, else InvalidRequest(edge_parameter, ...). `edges` are summed over steps,
/// `extra_bytes` is the generator's own working memory.
void check_generated_size(std::int64_t vertices, std::int64_t steps, double edges, double extra_bytes,
                          const std::string& edge_parameter);

/// A graph without snapshots yet: [T] places for them, zero degree features (F = 2), provenance of the generator.
SnapshotGraph start_graph(const std::string& generator, const FieldTable& fields, const Json& parameters,
                          std::uint64_t seed, std::int64_t vertices, std::int64_t steps);

/// Sets step `t` of `graph` from its ascending edge codes: equal codes become one edge with their number as value, and
/// (in, out) degrees with multiplicity become the features. Steps may be set in any order and at the same time.
void set_step(SnapshotGraph& graph, std::int64_t t, std::span<const std::uint64_t> codes);

}  // namespace strobe
