#include "harness/training/planned_peak.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/host/channel_words.hpp"
#include "backends/launch_wait.hpp"
#include "backends/shapes_device.hpp"
#include "backends/software.hpp"
#include "core/errors.hpp"
#include "harness/hybrid_batches/hybrid_memory.hpp"
#include "harness/training/training.hpp"

namespace strobe {
namespace {

using PartBytes = PerMemoryPart<std::uint64_t>;

/// Accounts for memory in the way in which another device stores tensors.
class AccountingDevice final : public ShapesDevice {
 public:
  /// `like` must outlive it.
  AccountingDevice(const DeviceRequest& request, Device& like) : ShapesDevice(request), like_(like) {
    const std::uint64_t before = like.live_bytes();
    const Tensor byte = like.allocate(1, 1, ElementType::u8);
    granule_ = like.live_bytes() - before;
  }

  bool has_own_memory() const override { return like_.has_own_memory(); }
  bool entries_decide(const MatrixUse& use) const override { return like_.entries_decide(use); }
  std::int64_t narrow_bytes() const override { return like_.narrow_bytes(); }
  /// The most spans that it kept at a time.
  std::size_t most_spans() const { return most_spans_; }
  bool wants_joined_inputs() const override { return like_.wants_joined_inputs(); }

 private:
  void do_prepare(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const override {
    like_.prepare_in(memory, a, host, use);
  }
  double do_end(Stream, std::string_view, const Work&, double) override {
    most_spans_ = std::max(most_spans_, spans().size() + 1);  // with that of the operation which ends
    return 0;
  }
  std::uint64_t do_account(std::uint64_t bytes) const override { return (bytes + granule_ - 1) / granule_ * granule_; }

  Device& like_;
  std::size_t most_spans_ = 0;
  std::uint64_t granule_ = 1;  // the pool rounds allocations up to multiples of this, in bytes
};

bool pieces_move(const Case& c) {
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  const std::shared_ptr<const Cluster> cluster = c.cluster.empty() ? nullptr : load_cluster(c.cluster, c.software);
  return comm.moves_pieces != nullptr && comm.moves_pieces(cluster.get());
}

/// One rank's side of collectives without the other ranks. A run without values has nothing to wait for.
class SingleRankCommunicator final : public Communicator {
 public:
  SingleRankCommunicator(const PlannedCase& plan, Device& device, Rank rank)
      : Communicator(device, rank, plan.ranks(), 0),
        moves_pieces_(!device.has_own_memory() && pieces_move(plan.request)) {}
  SingleRankCommunicator(SingleRankCommunicator& parent, MemberRanks members, Rank rank)
      : Communicator(parent.device(), rank, std::move(members), 0), moves_pieces_(parent.moves_pieces_) {}

  bool moves_pieces() const override { return moves_pieces_; }
  bool lists_peers() const override { return true; }  // nothing reads the lists

 private:
  std::shared_ptr<void> do_start(const Collective&) override { return nullptr; }
  Completion do_wait(const Collective&, const std::shared_ptr<void>&) override { return {}; }
  std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own) override {
    if (own.rank < 0) return nullptr;
    return std::make_unique<SingleRankCommunicator>(*this, members_of(groups[own.index]), own.rank);
  }

  bool moves_pieces_;  // the same as in the case's own communicator
};

/// A channel to a helper that answers at once, because a rehearsal has no values to answer with.
class SingleRankChannel final : public TrainerChannel {
 public:
  /// Trainers write headers of requests even without values, so the block is real memory.
  SingleRankChannel(const ChannelShape& shape, const ChannelBlock& block, std::size_t i)
      : TrainerChannel(shape, block.request(i), block.answer(i)) {}

 private:
  DeviceEvent do_ask(std::vector<DeviceEvent>) override { return {}; }
};

TrainerChannels single_rank_channels(const std::vector<HelperRequest>& helpers, Rank rank) {
  TrainerChannels all;
  for (const HelperRequest& helper : helpers) {
    auto& channels = all.emplace_back();
    const ChannelBlock block(ChannelBlock::allocate(helper.channels), helper.channels);
    for (std::size_t i = 0; i < helper.channels.size(); ++i) {
      const ChannelShape& shape = helper.channels[i];
      channels.push_back(shape.trainer == rank ? std::make_shared<SingleRankChannel>(shape, block, i) : nullptr);
    }
  }
  return all;
}

DeviceRequest request_of(const PlannedCase& plan, Rank rank) {
  DeviceRequest request;
  request.rank = rank;
  request.ranks = plan.ranks();
  request.precision = plan.fp64() ? ElementType::f64 : ElementType::f32;
  request.values = false;
  return request;
}

/// A device like the one that will run the rank, with its memory limit if `limited`.
std::unique_ptr<Device> device_of_case(const PlannedCase& plan, Rank rank, bool limited) {
  const Case& c = plan.request;
  DeviceRequest request = request_of(plan, rank);
  if (limited) request.memory_limit_bytes = static_cast<std::uint64_t>(c.memory_limit_gib * 1024 * 1024 * 1024);
  request.values = c.numerics != "none";
  if (!c.cluster.empty()) request.cluster = load_cluster(c.cluster, c.software);
  return DeviceRegistry::instance().find(c.device, "/device").value(request);
}

struct RankPeak {
  PartBytes parts{};
  std::uint64_t span_bytes = 0;
};

RankPeak peak_of_rank(const PlannedCase& plan, Rank rank) {
  const std::unique_ptr<Device> like = device_of_case(plan, rank, false);
  AccountingDevice device(request_of(plan, rank), *like);
  SingleRankCommunicator communicator(plan, device, rank);
  communicator.take_channels(single_rank_channels(plan.schedule->helpers(), rank));
  rehearse(plan, device, communicator);
  return {device.peak_parts(), device.most_spans() * sizeof(Span)};
}

/// The parts of every process. Each process is a rank.
std::vector<PartBytes> of_all_processes(const PlannedCase& plan, const PartBytes& own) {
  const auto& comm = CommunicatorRegistry::instance().find(plan.request.comm, "/comm").value;
  const std::string sent(reinterpret_cast<const char*>(own.data()), sizeof own);
  std::vector<PartBytes> all;
  for (const std::string& received : comm.gather(sent, launch_wait_seconds())) {
    if (received.size() != sizeof own) throw Error("another process sends no planned peak; it stopped planning");
    std::memcpy(all.emplace_back().data(), received.data(), sizeof own);
  }
  return all;
}

}  // namespace

ShareHolders planning_processes(const Case& request, PlanUse use) {
  const auto& comm = CommunicatorRegistry::instance().find(request.comm, "/comm").value;
  if (use == PlanUse::report || comm.in_one_process() || comm.world_size() <= 1 || comm.gather == nullptr) return {};
  return {comm.process_rank(), comm.world_size(),
          [gather = comm.gather](const std::string& own) { return gather(own, launch_wait_seconds()); }};
}

PlannedPeak planned_peak(const PlannedCase& plan) {
  PlannedPeak most;
  most.limit_bytes = device_of_case(plan, 0, true)->memory_limit_bytes();
  if (const std::optional<Rank> own = plan.schedule->only_rank()) {
    RankPeak peak;
    planning_processes(plan.request, PlanUse::run).together([&] { peak = peak_of_rank(plan, *own); });
    most.parts = of_all_processes(plan, peak.parts);
  } else {
    for (Rank rank = 0; rank < plan.ranks(); ++rank) {
      const RankPeak peak = peak_of_rank(plan, rank);
      most.parts.push_back(peak.parts);
      most.span_bytes.push_back(static_cast<double>(peak.span_bytes));
    }
  }
  for (const PartBytes& parts : most.parts)
    most.bytes = std::max(most.bytes, std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
  return most;
}

std::optional<PlannedPeak> planned_evaluation_peak(const PlannedCase& plan) {
  const std::optional<HybridMemory> hybrid = hybrid_memory(*plan.schedule);
  if (!hybrid || plan.request.numerics == "none") return std::nullopt;  // without values nothing is evaluated
  PlannedCase judged = plan;
  judged.schedule = hybrid->judged;
  return planned_peak(judged);
}

}  // namespace strobe
