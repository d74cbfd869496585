// Communicator `mpi`: one rank per MPI process; a group has MPI communicators of its own. Waiting polls MPI, so it can
// look at the deadline, the stop signal and word from the peers; it never enters a blocking MPI call. Data of large
// messages moves while a rank is inside wait, starts another collective, or between two operations of its device as
// long as an exchange is under way: Open MPI's point-to-point layer answers a peer only inside its calls and has no
// thread of its own for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "backends/host/helpers.hpp"
#include "backends/host/shared_channels.hpp"
#include "backends/launch_wait.hpp"
#include "backends/lost_ranks.hpp"
#include "backends/mpi/under_way.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/machine_limits.hpp"

namespace strobe::mpi {
namespace {

constexpr double least_agreement_seconds = 60;  // ranks may be computing when another one fails
// Between SIGTERM and SIGKILL mpirun leaves a second, in which the first rank writes what there is.
constexpr double stopped_agreement_seconds = 0.5;
// A rank that was too late for a collective is given so long to hear of it and to meet the others; one that is gone
// comes never, and nobody should wait for it as for one that computes.
constexpr double late_agreement_seconds = 5;
constexpr auto answer_grace = std::chrono::seconds(1);

/// Decides how to pass the time between two looks at MPI: spin while every rank has a core, then yield, then sleep.
class Patience {
 public:
  explicit Patience(bool spin) : spin_(spin), begin_(Clock::now()) {}

  void pause(Clock::time_point now) const {
    if (now - begin_ < (spin_ ? std::chrono::microseconds(200) : std::chrono::microseconds(0))) return;
    if (now - begin_ < std::chrono::milliseconds(5)) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  bool spin_;
  Clock::time_point begin_;
};

/// State that the communicators of one rank share.
struct RankOfLaunch {
  Runtime& runtime;
  SideChannel& side;
  UnderWay& under_way;
  const HelperThreads& helpers;  // of this process
  bool spin;

  /// Throws when another rank has failed, or a helper of this process.
  void look() const {
    if (side.peer_failure()) {
      throw PeerFailed(fmt::format("rank {} failed: {}", side.peer_failure()->rank, side.peer_failure()->text));
    }
    if (const auto failure = helpers.failure()) std::rethrow_exception(failure);
  }
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(Device& device, const LaunchRequest& request, RankOfLaunch& own, const Session& session)
      : Communicator(device, own.runtime.rank(), own.runtime.size(), request.timeout_seconds),
        own_(own),
        session_(session) {}
  MpiCommunicator(MpiCommunicator& parent, const Session& session, MemberRanks members, int rank)
      : Communicator(parent.device(), rank, std::move(members), parent.timeout_seconds()),
        own_(parent.own_),
        session_(session) {}

 private:
  std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own) override {
    if (own.rank < 0) return nullptr;
    MemberRanks group = members_of(groups[own.index]);
    const Session& session = own_.runtime.group_session(*group);
    return std::make_unique<MpiCommunicator>(*this, session, std::move(group), own.rank);
  }

  std::shared_ptr<void> do_start(const Collective& collective) override {
    auto operation = std::make_shared<Operation>(collective, entered_, device(), rank(), size(), members(), session_);
    if (!operation->is_message()) own_.side.set_entered(session_.name, ++entered_);
    own_.under_way.start(operation);
    return operation;
  }

  Completion do_wait(const Collective&, const std::shared_ptr<void>& state) override {
    Operation& operation = *static_cast<Operation*>(state.get());
    WaitedTime waited;
    const double entered = device().now();
    double ready = 0;  // before anything: nothing had to be waited for
    if (!operation.arrived()) {
      poll(operation, waited, [&] { return operation.arrived(); });
      ready = device().now();
    }
    const std::string mismatch = operation.mismatch();
    if (!mismatch.empty()) throw Error("ranks disagree: " + mismatch);
    poll(operation, waited, [&] { return operation.finished(); });
    own_.under_way.remove(operation);
    if (operation.seen_finished_seconds() != 0) {
      return {operation.seen_arrived_seconds(), operation.seen_finished_seconds()};
    }
    return {ready, device().now(), entered};  // data moved in here, for all that is known
  }

  template <class Done>
  void poll(const Operation& operation, WaitedTime& waited, const Done& done) {
    const Patience patience(own_.spin);
    while (!done()) {
      const Clock::time_point now = Clock::now();
      own_.side.serve_sometimes(now);
      own_.look();
      const int signal = stop_signal().load();
      if (signal != 0) throw Interrupted(signal);
      if (waited.seconds() >= timeout_seconds()) throw_timeout(operation);
      patience.pause(now);
    }
  }

  PeerFailed peer_failed() const {
    const FailureReport& report = *own_.side.peer_failure();
    return PeerFailed(fmt::format("rank {} failed: {}", report.rank, report.text));
  }

  [[noreturn]] void throw_timeout(const Operation& operation) {
    std::vector<int> missing;
    if (operation.is_message()) {
      missing = {world_rank(operation.collective().peer)};
    } else {
      std::vector<int> ranks;
      for (int peer = 0; peer < size(); ++peer) ranks.push_back(world_rank(peer));
      missing = own_.side.ask_missing(ranks, session_.name, operation.number(), answer_grace);
      if (own_.side.peer_failure()) throw peer_failed();
    }
    const std::string name(collective_names[static_cast<int>(operation.collective().kind)]);
    throw CollectiveTimeout(name, world_rank(rank()), timeout_seconds(), std::move(missing));
  }

  RankOfLaunch& own_;
  const Session& session_;
  std::int64_t entered_ = 0;
};

/// The state that a rank's program uses in this process.
struct Place {
  Runtime& runtime;
  Session& session;
  SideChannel& side;
  HelperThreads helpers;
  std::vector<std::shared_ptr<ChannelBlock>> blocks = {};  // of channels to helpers
};

void start_helpers(const LaunchRequest& request, Place& place) {
  for (std::size_t i = 0; i < request.helpers.size(); ++i) {
    if (home_of(request.helpers[i]) == place.runtime.rank()) place.helpers.start(request.helpers[i], place.blocks[i]);
  }
}

/// Waits for the helpers of this process, whose trainers may be others; returns what ended one of them.
std::exception_ptr end_helpers(Place& place, bool failed) {
  while (!place.helpers.all_ended()) {
    place.side.serve_sometimes(Clock::now());
    if (failed || place.side.peer_failure() || stop_signal().load() != 0) place.helpers.stop();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  place.helpers.join();
  return place.helpers.failure();
}

/// Runs the program; returns what ended it, and whether it left collectives that were started and never completed.
std::exception_ptr run_program(const LaunchRequest& request, const RankProgram& program, Place& place, bool& leftover) {
  const int rank = place.runtime.rank();
  try {
    start_helpers(request, place);
    DeviceRequest wanted = request.device;
    wanted.rank = rank;
    wanted.ranks = request.ranks;
    const std::unique_ptr<Device> device = request.make_device(wanted);
    if (device->has_own_memory())
      throw InvalidRequest("--comm",
                           "communicator mpi moves host memory, but this device has its own; use --comm nccl, or "
                           "--comm local for ranks of one process");
    constexpr double rounding = 1e-9;
    const bool spin = std::max(1, request.device.threads) <= place.runtime.cores() + rounding;
    UnderWay under_way(*device);
    RankOfLaunch own{place.runtime, place.side, under_way, place.helpers, spin};
    device->look_while_waiting([&own] {
      own.side.serve_sometimes(Clock::now());
      own.look();
    });
    MpiCommunicator communicator(*device, request, own, place.session);
    communicator.take_channels(trainer_channels(request.helpers, place.blocks, rank, request.timeout_seconds, *device));
    program(*device, communicator);
    leftover = !under_way.empty();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// Calls run_program together with the helpers of this process. If a helper failed, its failure is the cause of its
/// trainers' failures.
std::exception_ptr run_with_helpers(const LaunchRequest& request, const RankProgram& program, Place& place,
                                    bool& leftover) {
  const int rank = place.runtime.rank();
  const std::exception_ptr failure = run_program(request, program, place, leftover);
  FailureReport own;
  if (failure) own = report_of(failure, rank);
  if (own.is_cause()) place.side.announce(own);
  close_channels(request.helpers, place.blocks, rank);
  const std::exception_ptr helpers_failure = end_helpers(place, failure != nullptr);
  if (!helpers_failure) return failure;
  const bool cause = report_of(helpers_failure, rank).is_cause();
  return failure == nullptr || (cause && !own.is_cause()) ? helpers_failure : failure;
}

/// Whether the rank stopped because another one was too late for a collective.
bool waited_in_vain(const FailureReport& own, const SideChannel& side) {
  const bool others = own.kind == FailureReport::Kind::consequence && side.peer_failure() &&
                      side.peer_failure()->kind == FailureReport::Kind::timeout;
  return others || own.kind == FailureReport::Kind::timeout;
}

/// How long to wait for word of how the other ranks ended. A rank that is done may have to wait as long as their
/// program takes, like a joined thread.
double most_agreement_seconds(const FailureReport& own, const SideChannel& side, double patience_seconds) {
  if (!own.failed()) return std::numeric_limits<double>::infinity();
  if (own.kind == FailureReport::Kind::interrupted && own.rank == 0) return stopped_agreement_seconds;
  return waited_in_vain(own, side) ? late_agreement_seconds : patience_seconds;
}

/// Finds out who is left, and ends this process's part in the world. Those that are left ask each other, so each goes
/// on answering for a while.
[[noreturn]] void end_without_lost(const FailureReport& own, SideChannel& side, Runtime& runtime) {
  const std::vector<int> silent = side.silent_ranks();
  for (const auto end = Clock::now() + 2 * answer_grace; Clock::now() < end;) {
    side.serve();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int first = 0;
  while (std::find(silent.begin(), silent.end(), first) != silent.end()) ++first;
  runtime.lose_ranks(silent);
  const bool consequence = own.kind == FailureReport::Kind::consequence && side.peer_failure();
  const std::string why = own.failed() ? own.text : "some ranks did not report how the case ended";
  throw RanksLost(fmt::format("{}; ranks that do not answer any more: {}. The run ends here. Continue with --resume",
                              consequence ? side.peer_failure()->text : why, fmt::join(silent, ", ")),
                  first == runtime.rank());
}

Runtime::EndPatience patience_at_end(const FailureReport& own, const SideChannel& side, double patience_seconds) {
  constexpr double look_seconds = 1;  // a rank that was too late and stands still needs no more time
  return {most_agreement_seconds(own, side, patience_seconds),
          waited_in_vain(own, side) ? look_seconds : launch_wait_seconds()};
}

void refuse_other_size(const LaunchRequest& request, int size) {
  if (request.ranks == size) return;
  throw Unavailable(
      fmt::format("communicator mpi: {} ranks were asked for, but MPI started {}; start with: mpirun -n {} strobe run "
                  "... --comm mpi --ranks {}",
                  request.ranks, size, request.ranks, request.ranks));
}

void launch(const LaunchRequest& request, const RankProgram& program) {
  if (request.ranks < 1) throw InvalidRequest("--ranks", fmt::format("{} ranks; at least 1 is needed", request.ranks));
  if (!launched_by_mpi()) refuse_other_size(request, 1);
  Runtime& runtime = Runtime::instance();
  refuse_other_size(request, runtime.size());
  const double meeting_seconds = launch_wait_seconds();
  const double patience_seconds = std::max(least_agreement_seconds, request.timeout_seconds);
  Session& session = runtime.begin_launch(meeting_seconds);
  SideChannel side(session.side, runtime.rank(), runtime.size());
  bool leftover = false;
  Place place{runtime, session, side, HelperThreads(request.timeout_seconds)};
  check_helpers(request.helpers, request.ranks);
  place.blocks = share_channels(request.helpers, runtime.rank(),
                                [&](const std::string& own) { return runtime.gather(own, meeting_seconds); });
  const std::exception_ptr failure = run_with_helpers(request, program, place, leftover);
  FailureReport own;
  if (failure) own = report_of(failure, runtime.rank());
  own.leftover = leftover ? 1 : 0;
  if (own.is_cause()) side.announce(own);
  std::vector<FailureReport> reports = runtime.end_launch(own, side, patience_at_end(own, side, patience_seconds));
  const bool agreed = !reports.empty();
  if (!agreed && (!own.failed() || waited_in_vain(own, side))) end_without_lost(own, side, runtime);
  if (!agreed) reports = {own};
  const FailureReport* cause = first_cause(reports);
  const bool unclean = std::any_of(reports.begin(), reports.end(), [](const auto& r) { return r.leftover != 0; });
  if (agreed && (cause != nullptr || unclean)) runtime.abandon_session();
  if (cause == nullptr) return;
  if (cause->rank == runtime.rank()) std::rethrow_exception(failure);
  rethrow(*cause);
}

std::vector<int> shared_threads() {
  if (!launched_by_mpi()) return {usable_cores()};
  return Runtime::instance().threads();
}

const Register<CommunicatorTag> registered{{
    "mpi",
    "one rank per process of an MPI world, started by mpirun or srun",
    "Message Passing Interface Forum, MPI: A Message-Passing Interface Standard, version 3.1, 2015",
    {},
    {launch, [] { return launched_by_mpi() ? Runtime::instance().rank() : 0; },
     [] { return launched_by_mpi() ? Runtime::instance().size() : 1; }, nullptr, shared_threads,
     [](const std::string& own, double seconds) { return Runtime::instance().gather(own, seconds); },
     [](const std::vector<std::string>& to, double seconds) { return Runtime::instance().all_to_all(to, seconds); }},
    {},
}};

}  // namespace
}  // namespace strobe::mpi
