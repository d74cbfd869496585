// Exchanges on devices: rows arrive where the plan says and return. The communicator moves pieces (local, and sim on a
// machine whose ranks share memory) or packed buffers (sim on a cluster). Pieces need no buffers.
#include "harness/full_batch/exchange/exchange.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backends/cluster.hpp"

namespace strobe {
namespace {

constexpr int rank_count = 3;
constexpr std::int64_t moved_vertices = 40, moved_steps = 7, moved_width = 3;

/// The number of each cell that a rank holds, in every column.
std::vector<double> numbers_of(const Placement& placement, Rank rank) {
  std::vector<double> numbers;
  for (Step t = 0; t < placement.steps(); ++t) {
    for (VertexId v = 0; v < placement.vertices; ++v) {
      if (placement.owner(v, t) != rank) continue;
      numbers.insert(numbers.end(), moved_width, static_cast<double>(t * placement.vertices + v));
    }
  }
  return numbers;
}

std::vector<double> values_of(Device& device, const Tensor& tensor) {
  std::vector<double> values(tensor.elements());
  device.move_out(tensor, values.data());
  return values;
}

/// The results on one rank of an exchange and its reverse.
struct Seen {
  std::vector<double> there, back;
  std::uint64_t sent_bytes = 0, peak_bytes = 0;
  int buffer_copies = 0;
  std::set<std::string> kernels;
};

struct Machine {
  std::string communicator;
  std::shared_ptr<const Cluster> cluster;
};

Machine local() { return {"local", nullptr}; }
Machine simulated(bool shared_memory) {
  auto cluster = std::make_shared<Cluster>(*load_cluster("aimos-v100:nodes=1"));
  cluster->shared_host_memory = shared_memory;
  cluster->gpu.allocation_bytes = 0;
  return {"sim", cluster};
}

std::vector<Seen> exchange_on(const Machine& machine, const Placement& from, const Placement& to) {
  LaunchRequest request;
  request.ranks = from.ranks;
  request.device.precision = ElementType::f64;
  request.device.cluster = machine.cluster;
  request.make_device = DeviceRegistry::instance().find(machine.cluster == nullptr ? "cpu" : "sim").value;
  const ExchangePlan plan = redistribute(from, to, {});
  std::vector<Seen> seen(from.ranks);
  const auto program = [&](Device& device, Communicator& communicator) {
    Seen& own = seen[device.rank()];
    const Exchange exchange(device, plan, Traffic::redistribute);
    const std::vector<double> numbers = numbers_of(from, device.rank());
    const Tensor x = device.move_in(numbers.data(), from.rows(device.rank()), moved_width, ElementType::f64);
    Tape tape(device, false);
    device.reset_peak();
    const std::uint64_t before = device.live_bytes();
    const Var y = exchange.apply(tape, communicator, Tape::constant(x));
    own.peak_bytes = device.peak_bytes() - before;
    own.there = values_of(device, y->value);
    own.back = values_of(device, exchange.return_gradient(device, communicator, y->value));
    for (const Span& span : device.spans().spans()) {
      own.sent_bytes += span.sent_bytes;
      own.kernels.insert(std::string(span.name));
      own.buffer_copies += span.name == "copy_runs" || span.name == "copy_rows" ? 1 : 0;
    }
  };
  CommunicatorRegistry::instance().find(machine.communicator).value.launch(request, program);
  return seen;
}

Placement snapshots() { return by_time(moved_vertices, contiguous_owners(moved_steps, rank_count), rank_count); }
Placement ranges() { return by_vertex(contiguous_owners(moved_vertices, rank_count), moved_steps, rank_count); }
Placement scattered() {
  std::vector<Rank> owner;
  for (std::int64_t v = 0; v < moved_vertices; ++v) owner.push_back(static_cast<Rank>(7 * v % rank_count));
  return by_vertex(std::move(owner), moved_steps, rank_count);
}

TEST(Exchange, PiecesAndBuffersBringTheSameRowsAndTakeThemBack) {
  for (const auto& [from, to] : {std::pair{snapshots(), ranges()}, std::pair{ranges(), snapshots()},
                                 std::pair{snapshots(), scattered()}, std::pair{scattered(), ranges()}}) {
    std::vector<std::vector<Seen>> runs;
    for (const Machine& machine : {local(), simulated(true), simulated(false)}) {
      runs.push_back(exchange_on(machine, from, to));
      for (Rank r = 0; r < rank_count; ++r) {
        const Seen& seen = runs.back()[r];
        EXPECT_EQ(seen.there, numbers_of(to, r)) << machine.communicator << r;
        EXPECT_EQ(seen.back, numbers_of(from, r)) << machine.communicator << r;
        EXPECT_EQ(seen.sent_bytes, runs.front()[r].sent_bytes);
        EXPECT_GT(seen.sent_bytes, 0u);
      }
    }
  }
}

TEST(Exchange, PiecesNeedNoBuffers) {
  const std::vector<Seen> pieces = exchange_on(local(), snapshots(), ranges());
  const std::vector<Seen> alike = exchange_on(simulated(true), snapshots(), ranges());
  const std::vector<Seen> packed = exchange_on(simulated(false), snapshots(), ranges());
  for (std::size_t r = 0; r < pieces.size(); ++r) {
    const auto output = static_cast<std::uint64_t>(ranges().rows(static_cast<Rank>(r)) * moved_width) * sizeof(double);
    EXPECT_EQ(pieces[r].peak_bytes, output);
    EXPECT_EQ(alike[r].peak_bytes, output);
    EXPECT_GT(packed[r].peak_bytes, output);
    EXPECT_EQ(pieces[r].buffer_copies, 2);  // own rows, in both directions
    EXPECT_EQ(alike[r].buffer_copies, 2);
    EXPECT_EQ(packed[r].buffer_copies, 4);  // and one buffer in each direction
  }
}

TEST(Exchange, ShortRunsAreMovedThroughBuffers) {
  for (const Seen& seen : exchange_on(local(), snapshots(), scattered())) {
    EXPECT_EQ(seen.buffer_copies, 4);
    EXPECT_TRUE(seen.kernels.contains("copy_rows")) << "a list of rows is shorter than one of runs";
  }
  for (const Seen& seen : exchange_on(simulated(false), snapshots(), ranges()))
    EXPECT_FALSE(seen.kernels.contains("copy_rows")) << "long runs are copied as runs";
}

/// Ranges of vertices become whole snapshots: every rank receives a run of each step from each other one.
TEST(Exchange, LongRunsArriveInPieces) {
  for (const Seen& seen : exchange_on(local(), ranges(), snapshots())) EXPECT_EQ(seen.buffer_copies, 2);
  for (const Seen& seen : exchange_on(simulated(false), ranges(), snapshots())) EXPECT_EQ(seen.buffer_copies, 4);
}

}  // namespace
}  // namespace strobe
