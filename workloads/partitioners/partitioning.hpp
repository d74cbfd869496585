// Shared parts of partitioners: the work that weights vertices, the volume that a partition costs, its balance.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The work of a part over the mean work of all parts that partitioners allow where the graph lets them (METIS's own).
inline constexpr double allowed_imbalance = 1.03;

/// Refuses a graph that is known only by its shape, for partitioners that look at edges. Throws InvalidRequest.
void require_structure(const PreparedGraph& graph, const std::string& partitioner);

/// Work of every vertex over all steps [N]: the non-zeros of its rows (spatial stages) and one per step (temporal
/// stages).
std::vector<std::int64_t> vertex_work(const PreparedGraph& graph);
/// The same of some vertices.
std::vector<std::int64_t> vertex_work(const PreparedGraph& graph, Run vertices);

/// Rows that cross between parts in one spatial pass of step t. For each vertex, this counts the other parts that own a
/// reader of it (the sum over v of lambda_t(v) of ESDG section 4.1; lambda - 1 of the step's hypergraph). `part` is
/// [N], in [0, parts). Cost O((nnz of the step + N) parts / 64).
std::int64_t connectivity_minus_one(const PreparedGraph& graph, Step t, const std::vector<Rank>& part, int parts);
/// The same summed over all steps: times a row's bytes, what all ranks together send in one pass.
std::int64_t connectivity_minus_one(const PreparedGraph& graph, const std::vector<Rank>& part, int parts);

/// Largest part's work over the mean work; 1 is perfect.
double work_imbalance(const std::vector<std::int64_t>& work, const std::vector<Rank>& part, int parts);

/// Gives every empty part a vertex of the largest part, as far as there are vertices.
void fill_empty_parts(std::span<Rank> part, int parts);

}  // namespace strobe
