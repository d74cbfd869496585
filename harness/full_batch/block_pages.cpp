// Invariant: at most one block is being read. The sizes of parts need the row offsets at the ends of ranges alone, so a
// rank that states them does not read the file of others.
#include "harness/full_batch/block_pages.hpp"

#include <algorithm>

namespace strobe {
namespace {

std::size_t value_bytes(bool fp64) { return fp64 ? sizeof(double) : sizeof(float); }

double bytes_in(const std::vector<std::shared_ptr<const PreparedGraph>>& graphs, const std::vector<GraphRows>& rows,
                bool fp64) {
  double bytes = 0;
  for (const auto& graph : graphs) bytes += bytes_of_rows(*graph, rows, value_bytes(fp64));
  return bytes;
}

/// The graph and its supports.
std::vector<std::shared_ptr<const PreparedGraph>> file_graphs(const DataPlan& data) {
  std::vector<std::shared_ptr<const PreparedGraph>> graphs = data.supports;
  graphs.push_back(data.graph);
  return graphs;
}

double bytes_of_block(const std::vector<std::shared_ptr<const PreparedGraph>>& graphs, const BlockPlan& block,
                      bool fp64) {
  const std::int64_t vertices = block.spatial.vertices, first = block.first_step * vertices;
  return bytes_in(graphs, {{first, first + block.spatial.steps() * vertices}}, fp64);
}

}  // namespace

double file_bytes(const DataPlan& data, bool fp64) {
  return bytes_in(file_graphs(data), {{0, data.graph->steps * data.graph->vertices}}, fp64);
}

void count_readers(FullBatchPlan& plan) {
  if (!plan.options.from_file || plan.request.cluster.empty()) return;
  const auto graphs = file_graphs(plan.data);
  for (BlockPlan& block : plan.blocks) {
    double sum = 0;
    for (Rank rank = 0; rank < block.spatial.ranks; ++rank)
      sum += bytes_in(graphs, rows_read(block.spatial, rank, block.first_step), plan.model.fp64);
    block.readers = std::max(1.0, sum / bytes_of_block(graphs, block, plan.model.fp64));
  }
}

BlockPages::BlockPages(const FullBatchPlan& plan, Device& device) : device_(device), graphs_(file_graphs(plan.data)) {
  if (!plan.options.from_file) return;
  const bool fp64 = plan.model.fp64;
  const double file = file_bytes(plan.data, fp64);
  for (const BlockPlan& block : plan.blocks) {
    rows_.push_back(rows_read(block.spatial, device.rank(), block.first_step));
    const double own = bytes_in(graphs_, rows_.back(), fp64), all = bytes_of_block(graphs_, block, fp64);
    parts_.push_back({static_cast<int>(parts_.size()), own, all, file, block.readers});
  }
}

void BlockPages::begin(std::size_t block) {
  HostWork work;
  work.name = "read_pages";
  work.file_part = parts_[block];
  if (device_.has_values()) {
    work.body = [graphs = graphs_, rows = rows_[block]](Workers&) {
      for (const auto& graph : graphs) bring_rows(*graph, rows);
    };
  }
  read_ = device_.run_on_host(std::move(work));
  begun_ = block;
}

void BlockPages::await(std::size_t block) {
  if (rows_.empty()) return;
  if (begun_ != block) begin(block);
  device_.await(read_);
  begun_.reset();
}

void BlockPages::turn(std::size_t block, std::size_t next, bool done) {
  if (rows_.empty()) return;
  if (device_.has_values() && (next != block || done))
    for (const auto& graph : graphs_) let_go(*graph, rows_[block]);
  if (next != block) begin(next);
}

}  // namespace strobe
