// Owners of cells from a file, in the form that --dump-placement writes, so that anybody's partition can be measured.
// Everything that ranks exchange follows from the two owners of a cell.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/names_elsewhere.hpp"
#include "harness/files/placement_file.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

struct FileParameters : StaleOptions {
  std::string owners;
};

const FieldTable& file_fields() {
  static const FieldTable table = with_stale_fields(make_fields<FileParameters>().text(
      "owners", &FileParameters::owners,
      "file with the rank of each cell, as --dump-placement writes it: step,vertex,rank,temporal_rank, the step empty "
      "where a line holds for all steps"));
  return table;
}

/// The two owners of each cell, filled in line by line.
class OwnersOfCells {
 public:
  OwnersOfCells(const CellOwners& file, const PreparedGraph& graph, int ranks)
      : file_(file), graph_(graph), ranks_(ranks), spatial_(graph.vertices * graph.steps, -1), temporal_(spatial_) {
    for (const OwnerLine& line : file.lines) add(line);
  }

  StrategyPlan plan(const StrategyInput& input) const {
    check_complete();
    if (spatial_ == temporal_) {
      const Placement both = placement(spatial_, listed_owners(input.only_rank));
      return {both, both, input.blocks, {}, {}};
    }
    return {placement(spatial_, all_owners), placement(temporal_, all_owners), input.blocks, {}, {}};
  }

 private:
  bool exists(VertexId v, Step t) const { return graph_.presence == nullptr || graph_.presence->exists(v, t); }
  std::size_t cell(std::int64_t v, std::int64_t t) const { return t * graph_.vertices + v; }

  Placement placement(const std::vector<Rank>& owner, const Run& listed) const {
    std::vector<Rank> of_node;
    for_cells(graph_, [&](NodeId, VertexId v, Step t) { of_node.push_back(owner[cell(v, t)]); });
    return place_cells(
        graph_, ranks_, [&](NodeId node) { return of_node[node]; }, listed);
  }

  void add(const OwnerLine& line) {
    check_range(line, "vertex", line.vertex, graph_.vertices);
    if (line.step >= 0) check_range(line, "step", line.step, graph_.steps);
    for (const std::int64_t rank : {line.rank, line.temporal_rank}) {
      if (rank >= ranks_)
        refuse(line, fmt::format("rank {} is not one of the {} ranks of this run; set --ranks", rank, ranks_));
    }
    const auto v = static_cast<VertexId>(line.vertex);
    if (line.step >= 0 && !exists(v, static_cast<Step>(line.step)))
      refuse(line, fmt::format("vertex {} does not exist at step {} in this run; the file is of another graph, or of "
                               "another --presence",
                               v, line.step));
    const std::int64_t first = line.step < 0 ? 0 : line.step, end = line.step < 0 ? graph_.steps : line.step + 1;
    for (std::int64_t t = first; t < end; ++t) set(line, t);
  }

  void set(const OwnerLine& line, std::int64_t t) {
    Rank& owner = spatial_[cell(line.vertex, t)];
    if (owner >= 0) refuse(line, fmt::format("vertex {} at step {} has an owner on an earlier line", line.vertex, t));
    owner = static_cast<Rank>(line.rank);
    temporal_[cell(line.vertex, t)] = static_cast<Rank>(line.temporal_rank);
  }

  void check_complete() const {
    for_cells(graph_, [&](NodeId, VertexId v, Step t) {
      if (spatial_[cell(v, t)] >= 0) return;
      throw InvalidRequest("/strategy/owners",
                           fmt::format("{} names no owner of vertex {} at step {}; this graph has {} vertices and {} "
                                       "steps, and each cell needs a line",
                                       file_.path, v, t, graph_.vertices, graph_.steps));
    });
  }

  void check_range(const OwnerLine& line, const char* what, std::int64_t found, std::int64_t count) const {
    if (found < count) return;
    refuse(line, fmt::format("there is no {} {} in this graph, which has {}; the file is of another graph", what, found,
                             count));
  }

  [[noreturn]] void refuse(const OwnerLine& line, const std::string& why) const {
    throw InvalidRequest("/strategy/owners", fmt::format("{}, line {}: {}", file_.path, line.number, why));
  }

  const CellOwners& file_;
  const PreparedGraph& graph_;
  int ranks_;
  std::vector<Rank> spatial_, temporal_;  // [T * N], step by step; -1: no line yet
};

StrategyPlan plan_file(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<FileParameters>(file_fields(), json, "/strategy");
  if (parameters.owners.empty())
    throw InvalidRequest("/strategy/owners",
                         "strategy file needs a file of owners: file:owners=FILE.csv; --dump-placement of another run "
                         "writes one");
  if (input.named.owners == nullptr) throw Error("strategy file has no reader for the file that it names");
  const std::shared_ptr<const CellOwners> owners = input.named.owners(parameters.owners);
  StrategyPlan plan = OwnersOfCells(*owners, input.graph, input.ranks).plan(input);
  plan.staleness = staleness_of(parameters);
  return plan;
}

const Register<StrategyTag> file_registered{{
    "file",
    "owners of cells from a file, as --dump-placement writes it",
    "anybody's partition",
    file_fields(),
    StrategyTag::Value(plan_file, true).as_preset(),
    {},
}};

const RegisterNames file_elsewhere{"strategy", {{"custom", "file", "owners of cells from a file"}}};

}  // namespace
}  // namespace strobe
