// Communicator `local`: the ranks are threads of this process and exchange data by copying from each other's buffers.
// Returns the same bits on every rank (sums are added in rank order). Starting a collective publishes the buffers;
// nothing is copied into intermediate memory, except that rows which lie apart on a GPU are packed. Cost: one lock per
// start and per end, two meetings of all ranks per collective (three for all_reduce), each byte copied once.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>
#include <thread>

#include "backends/host/helpers.hpp"
#include "backends/local/world.hpp"
#include "core/system/machine_limits.hpp"

namespace strobe::local {
namespace {

constexpr double longest_timeout_seconds = 1e9;  // keeps deadlines within the clock's range

/// A rank's place in a meeting.
struct Place {
  MeetingKey key;
  int member = 0;
  std::shared_ptr<Meeting> meeting;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(Device& device, int rank, const LaunchRequest& request, World& world)
      : Communicator(device, rank, request.ranks, request.timeout_seconds),
        world_(world),
        copies_cheaply_(!device.has_own_memory()) {}
  LocalCommunicator(LocalCommunicator& parent, GroupNumber group, MemberRanks members, int rank)
      : Communicator(parent.device(), rank, std::move(members), parent.timeout_seconds()),
        world_(parent.world_),
        group_(group),
        copies_cheaply_(parent.copies_cheaply_) {}

  /// A copy between GPUs' tensors is a call of the driver each; packing is one launch.
  bool moves_pieces() const override { return copies_cheaply_; }

 private:
  std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own) override {
    if (own.rank < 0) return nullptr;
    const GroupNumber group = world_.group(group_, own.split, own.index);
    return std::make_unique<LocalCommunicator>(*this, group, members_of(groups[own.index]), own.rank);
  }

  std::shared_ptr<void> do_start(const Collective& collective) override {
    auto place = std::make_shared<Place>();
    if (collective.kind == CollectiveKind::send) {
      place->key = next_message(rank(), collective.peer, collective.tag);
    } else if (collective.kind == CollectiveKind::receive) {
      place->key = next_message(collective.peer, rank(), collective.tag);
      place->member = 1;
    } else {
      place->key = {group_, -1, -1, 0, collectives_++};
      place->member = rank();
    }
    const int entrants = place->key.is_message() ? 2 : size();
    place->meeting = world_.enter(place->key, entrants, members(), place->member, collective, device().now());
    return place;
  }

  Completion do_wait(const Collective& collective, const std::shared_ptr<void>& state) override {
    const Place& place = *static_cast<const Place*>(state.get());
    Meeting& meeting = *place.meeting;
    const std::chrono::duration<double> timeout(std::min(timeout_seconds(), longest_timeout_seconds));
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
    if (!world_.await(meeting, -1, deadline)) throw timed_out(collective, place);
    if (!meeting.mismatch().empty()) throw Error("ranks disagree: " + meeting.mismatch());
    const double entered = device().now(), moved = meeting.began(entered);
    for (int stage = 0; stage < meeting.stages(); ++stage) {
      if (meeting.work(stage, place.member, device())) world_.wake_all();
      if (!world_.await(meeting, stage, deadline)) throw timed_out(collective, place);
    }
    const double ready = meeting.ready_seconds();
    // Peers may have carried it out while this rank was computing.
    const bool before = meeting.stages() > 0 && meeting.ended_seconds() <= entered;
    const double end = before ? meeting.ended_seconds() : device().now();
    world_.leave(place.key, meeting, place.member);
    return {ready, end, moved};
  }

  MeetingKey next_message(int source, int destination, int tag) {
    return {group_, source, destination, tag, messages_[{source, destination, tag}]++};
  }

  CollectiveTimeout timed_out(const Collective& collective, const Place& place) const {
    const std::string name(collective_names[static_cast<int>(collective.kind)]);
    std::vector<int> missing = world_.missing(*place.meeting);
    // Members of a message are the sender and the receiver; whoever waits is there, so the other one is not.
    if (place.key.is_message() && !missing.empty()) missing = {collective.peer};
    for (int& rank : missing) rank = world_rank(rank);
    return CollectiveTimeout(name, world_rank(rank()), timeout_seconds(), std::move(missing));
  }

  World& world_;
  GroupNumber group_ = 0;
  bool copies_cheaply_;
  std::uint64_t collectives_ = 0;
  std::map<std::tuple<int, int, int>, std::uint64_t> messages_;
};

/// State that the ranks of a launch share with its helpers.
struct Beside {
  explicit Beside(const LaunchRequest& request, World& world)
      : helpers(request.timeout_seconds, [&world](const std::string& name, std::exception_ptr failure, bool consequence,
                                                  const std::string& text) {
          world.fail("helper " + name, std::move(failure), consequence, text);
        }) {
    check_helpers(request.helpers, request.ranks);
    for (const HelperRequest& helper : request.helpers) {
      blocks.push_back(std::make_shared<ChannelBlock>(ChannelBlock::allocate(helper.channels), helper.channels));
    }
  }
  std::vector<std::shared_ptr<ChannelBlock>> blocks;
  HelperThreads helpers;
};

void run_program(const LaunchRequest& request, int rank, const RankProgram& program, World& world,
                 const Beside& beside) {
  DeviceRequest wanted = request.device;
  wanted.rank = rank;
  wanted.ranks = request.ranks;
  const std::unique_ptr<Device> device = request.make_device(wanted);
  LocalCommunicator communicator(*device, rank, request, world);
  device->look_while_waiting([&world] { world.look(); });
  communicator.take_channels(trainer_channels(request.helpers, beside.blocks, rank, request.timeout_seconds, *device));
  program(*device, communicator);
}

void run_rank(const LaunchRequest& request, int rank, const RankProgram& program, World& world, Beside& beside) {
  const auto fail = [&](bool consequence, const std::string& text) {
    world.fail(rank, std::current_exception(), consequence, text);
    beside.helpers.stop();
  };
  try {
    run_program(request, rank, program, world, beside);
  } catch (const PeerFailed& failure) {
    fail(true, failure.what());
  } catch (const std::exception& failure) {
    fail(false, failure.what());
  } catch (...) {
    fail(false, "an exception of unknown type");
  }
  close_channels(request.helpers, beside.blocks, rank);
}

void launch(const LaunchRequest& request, const RankProgram& program) {
  if (request.ranks < 1) throw InvalidRequest("--ranks", fmt::format("{} ranks; at least 1 is needed", request.ranks));
  const int threads = request.ranks * std::max(1, request.device.threads);
  World world(threads <= usable_cores());
  Beside beside(request, world);
  for (std::size_t i = 0; i < request.helpers.size(); ++i) beside.helpers.start(request.helpers[i], beside.blocks[i]);
  std::vector<std::thread> ranks;
  try {
    for (int rank = 0; rank < request.ranks; ++rank) {
      ranks.emplace_back(run_rank, std::cref(request), rank, std::cref(program), std::ref(world), std::ref(beside));
    }
  } catch (const std::system_error& failure) {
    const auto cause = std::make_exception_ptr(SystemError(fmt::format(
        "cannot start a thread for rank {} of {}: {}", ranks.size(), request.ranks, failure.code().message())));
    world.fail(static_cast<int>(ranks.size()), cause, false, failure.what());
    beside.helpers.stop();
  }
  for (std::thread& rank : ranks) rank.join();
  beside.helpers.join();
  world.rethrow();
}

const Register<CommunicatorTag> registered{{
    "local",
    "ranks are threads of this process; data moves by copying between their buffers",
    "Strobe design: communicator local",
    {},
    {launch, [] { return 0; }, [] { return 0; }, [](const Cluster*) { return true; }},
    {},
}};

}  // namespace
}  // namespace strobe::local
