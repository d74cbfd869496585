// How the ranks of communicator `nccl` are started: as threads of this process, one GPU each, unless a launcher started
// one process per rank. Invariants: NCCL is only started when every rank has a GPU of its own; after a launch every
// process ends alike, with the first cause, as those of communicator mpi do.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <system_error>
#include <thread>

#include "backends/failure_report.hpp"
#include "backends/host/helpers.hpp"
#include "backends/host/shared_channels.hpp"
#include "backends/nccl/nccl_communicator.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/machine_limits.hpp"

namespace strobe::nccl {
namespace {

constexpr double least_agreement_seconds = 60;  // ranks may be computing when another one fails
constexpr double late_agreement_seconds = 10;   // when a rank was too late for a collective

void check_runtime(const Device& device) {
  if (!device.native_queue("cuda", Stream::communicate))
    throw InvalidRequest("--comm", "nccl moves the memory of GPUs; it needs --device cuda");
}

int count_gpus() {
  std::string reason;
  const int count = calls::gpu_count(reason);
  if (count == 0) {
    throw Unavailable("communicator nccl: " + reason +
                      "; without a GPU use --device cpu with --comm local or --comm mpi");
  }
  return count;
}

std::unique_ptr<Device> make_device(const LaunchRequest& request, int rank) {
  DeviceRequest wanted = request.device;
  wanted.rank = rank;
  wanted.ranks = request.ranks;
  return request.make_device(wanted);
}

/// The channels to helpers of threads of this process, and the helpers.
struct Beside {
  Beside(const LaunchRequest& request, HelperThreads::Failed failed)
      : helpers(request.timeout_seconds, std::move(failed)) {
    check_helpers(request.helpers, request.ranks);
  }
  std::vector<std::shared_ptr<ChannelBlock>> blocks;
  HelperThreads helpers;
};

/// Runs the rank's program with its channels.
void run_trainer(const LaunchRequest& request, int rank, const RankProgram& program, NcclCommunicator& communicator,
                 const Beside& beside, Peers& peers) {
  Device& device = communicator.device();
  device.look_while_waiting([&peers, &beside] {
    peers.check();
    if (const auto failure = beside.helpers.failure()) std::rethrow_exception(failure);
  });
  communicator.take_channels(trainer_channels(request.helpers, beside.blocks, rank, request.timeout_seconds, device));
  program(device, communicator);
}

void run_thread(const LaunchRequest& request, int rank, const RankProgram& program, const calls::UniqueId& id,
                Threads& threads, Beside& beside) {
  try {
    const std::unique_ptr<Device> device = make_device(request, rank);
    ThreadPeers peers(threads, rank);
    check_runtime(*device);
    NcclCommunicator communicator(*device, rank, request, id, peers);
    try {
      run_trainer(request, rank, program, communicator, beside, peers);
    } catch (const PeerFailed&) {
      throw;
    } catch (const std::exception& failure) {
      // The others must know before this rank's communicator ends, which may take its time.
      threads.fail("rank " + std::to_string(rank), std::current_exception(), false, failure.what());
      throw;
    }
  } catch (const PeerFailed& failure) {
    threads.fail("rank " + std::to_string(rank), std::current_exception(), true, failure.what());
  } catch (const std::exception& failure) {
    threads.fail("rank " + std::to_string(rank), std::current_exception(), false, failure.what());
  } catch (...) {
    threads.fail("rank " + std::to_string(rank), std::current_exception(), false, "an exception of unknown type");
  }
  if (threads.failed()) beside.helpers.stop();
  close_channels(request.helpers, beside.blocks, rank);
}

void refuse_too_few_gpus(const LaunchRequest& request) {
  const int gpus = count_gpus();
  if (request.ranks > gpus) {
    throw Unavailable(
        fmt::format("communicator nccl: {} ranks need {} GPUs, but this process sees {}; NCCL refuses two "
                    "ranks on one GPU: use --comm local, or --ranks {}",
                    request.ranks, request.ranks, gpus, gpus));
  }
}

void launch_threads(const LaunchRequest& request, const RankProgram& program) {
  refuse_too_few_gpus(request);
  calls::forbid_direct_access();
  const calls::UniqueId id = calls::make_unique_id();
  Threads threads(request.ranks);
  Beside beside(request, [&threads](const std::string& name, std::exception_ptr failure, bool consequence,
                                    const std::string& text) {
    threads.fail("helper " + name, std::move(failure), consequence, text);
  });
  for (const HelperRequest& helper : request.helpers) {
    beside.blocks.push_back(std::make_shared<ChannelBlock>(ChannelBlock::allocate(helper.channels), helper.channels));
    beside.helpers.start(helper, beside.blocks.back());
  }
  std::vector<std::thread> ranks;
  try {
    for (int rank = 0; rank < request.ranks; ++rank) {
      ranks.emplace_back(run_thread, std::cref(request), rank, std::cref(program), std::cref(id), std::ref(threads),
                         std::ref(beside));
    }
  } catch (const std::system_error& failure) {
    const auto cause = std::make_exception_ptr(SystemError(fmt::format(
        "cannot start a thread for rank {} of {}: {}", ranks.size(), request.ranks, failure.code().message())));
    threads.fail("rank " + std::to_string(ranks.size()), cause, false, failure.what());
    beside.helpers.stop();
  }
  for (std::thread& rank : ranks) rank.join();
  beside.helpers.join();
  threads.world().rethrow();
}

/// This process's place, read once: the environment is the launcher's word for the life of the process.
const LaunchPlace& own_place() {
  static const LaunchPlace place = launch_place(process_environment());
  return place;
}

/// Where the processes meet; kept from launch to launch. Null for a world of one.
Rendezvous* meeting_point(double seconds) {
  static const std::unique_ptr<Rendezvous> point = own_place().size == 1 ? nullptr : meet(own_place(), seconds);
  return point.get();
}

Brought gather(Rendezvous* point, const std::string& own, double seconds) {
  return point == nullptr ? Brought{own} : point->gather(own, seconds);
}

/// A rank's message before NCCL is started: an id of rank 0, then the name of its GPU, empty when it has none.
std::string introduction(int rank, bool well) {
  std::string text(sizeof(calls::UniqueId), '\0');
  if (!well) return text;
  if (rank == 0) {
    const calls::UniqueId id = calls::make_unique_id();
    std::memcpy(text.data(), id.data(), id.size());
  }
  return text + calls::gpu_name();
}

/// Throws unless all ranks have come and have a GPU each.
calls::UniqueId check_introductions(const Brought& all) {
  std::vector<std::string> gpus;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank]) throw PeerFailed(fmt::format("rank {} did not join the launch", rank));
    gpus.push_back(all[rank]->substr(sizeof(calls::UniqueId)));
    if (gpus.back().empty()) throw PeerFailed(fmt::format("rank {} has no device", rank));
    const auto first = std::find(gpus.begin(), gpus.end() - 1, gpus.back());
    if (first == gpus.end() - 1) continue;
    throw Unavailable(
        fmt::format("communicator nccl: ranks {} and {} have the same {}; NCCL needs a GPU per rank: start "
                    "through scripts/launch/bind_gpu, or with as many ranks per machine as it has GPUs",
                    first - gpus.begin(), rank, gpus.back()));
  }
  calls::UniqueId id;
  std::memcpy(id.data(), all[0]->data(), id.size());
  return id;
}

/// The strings of all processes; none may be missing.
std::vector<std::string> gather_from(Rendezvous* point, const std::string& own, double seconds) {
  const Brought brought = gather(point, own, seconds);
  std::vector<std::string> words;
  for (std::size_t rank = 0; rank < brought.size(); ++rank) {
    if (!brought[rank])
      throw SystemError(
          fmt::format("nccl: rank {} did not reach the meeting point of the ranks within {:.0f} s", rank, seconds));
    words.push_back(*brought[rank]);
  }
  return words;
}

/// Waits for the helpers of this process, whose trainers may be others.
void end_helpers(HelperThreads& helpers, Rendezvous* point, bool failed) {
  while (!helpers.all_ended()) {
    if (failed || stop_signal().load() != 0 || (point != nullptr && !point->alarmed().empty())) helpers.stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  helpers.join();
}

/// Runs the rank's program together with the helpers of this process; returns the exception that ended it.
std::exception_ptr run_communicator(const LaunchRequest& request, const RankProgram& program, Rendezvous* point,
                                    Device& device, const calls::UniqueId& id, Beside& beside) {
  const int rank = own_place().rank;
  std::exception_ptr failure;
  try {
    ProcessPeers peers(point);
    NcclCommunicator communicator(device, rank, request, id, peers);
    try {
      run_trainer(request, rank, program, communicator, beside, peers);
    } catch (...) {
      if (point != nullptr) point->alarm();  // before this rank's communicator ends, which may take its time
      throw;
    }
  } catch (...) {
    if (point != nullptr) point->alarm();
    failure = std::current_exception();
  }
  close_channels(request.helpers, beside.blocks, rank);
  end_helpers(beside.helpers, point, failure != nullptr);
  const std::exception_ptr helpers_failure = beside.helpers.failure();
  if (!helpers_failure) return failure;
  if (point != nullptr) point->alarm();
  const bool cause = report_of(helpers_failure, rank).is_cause();
  return failure == nullptr || (cause && !report_of(failure, rank).is_cause()) ? helpers_failure : failure;
}

/// Runs this process's rank and returns what ended it. Throws when the ranks cannot even talk to each other.
std::exception_ptr run_process(const LaunchRequest& request, const RankProgram& program, Rendezvous* point,
                               double seconds) {
  std::unique_ptr<Device> device;
  std::exception_ptr failure;
  try {
    count_gpus();
    device = make_device(request, own_place().rank);
    check_runtime(*device);
  } catch (...) {
    failure = std::current_exception();
  }
  const Brought all = gather(point, introduction(own_place().rank, failure == nullptr), seconds);
  if (failure) return failure;
  try {
    const calls::UniqueId id = check_introductions(all);
    Beside beside(request, {});
    beside.blocks = share_channels(request.helpers, own_place().rank,
                                   [&](const std::string& own) { return gather_from(point, own, seconds); });
    for (std::size_t i = 0; i < request.helpers.size(); ++i) {
      if (home_of(request.helpers[i]) == own_place().rank) beside.helpers.start(request.helpers[i], beside.blocks[i]);
    }
    return run_communicator(request, program, point, *device, id, beside);
  } catch (...) {
    if (point != nullptr) point->alarm();
    return std::current_exception();
  }
}

/// How every rank ended; a rank without word ended somehow.
std::vector<FailureReport> reports_of(const Brought& all) {
  std::vector<FailureReport> reports(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] && all[rank]->size() == sizeof(FailureReport)) {
      std::memcpy(&reports[rank], all[rank]->data(), sizeof(FailureReport));
    } else {
      const SystemError lost(fmt::format("rank {} ended without a message; see its output or the launcher's", rank));
      reports[rank] = report_of(std::make_exception_ptr(lost), static_cast<int>(rank));
    }
  }
  return reports;
}

void launch_process(const LaunchRequest& request, const RankProgram& program) {
  const LaunchPlace& place = own_place();
  if (request.ranks != place.size) {
    throw Unavailable(fmt::format("communicator nccl: {} ranks were asked for, but {} started {}; ask for --ranks {}",
                                  request.ranks, place.launcher, place.size, place.size));
  }
  const double seconds = std::max(least_agreement_seconds, request.timeout_seconds);
  Rendezvous* const point = meeting_point(seconds);
  const std::exception_ptr failure = run_process(request, program, point, seconds);
  FailureReport own;
  if (failure) own = report_of(failure, place.rank);
  // A rank that is done may have to wait for the others as long as their program takes, like a joined thread. One that
  // waited in vain for a collective need not wait as long again: who is alive has heard of it soon.
  const double patience = own.kind == FailureReport::Kind::timeout ? late_agreement_seconds : seconds;
  const double limit = failure ? patience : std::numeric_limits<double>::infinity();
  const std::string words(reinterpret_cast<const char*>(&own), sizeof(own));
  const std::vector<FailureReport> reports = reports_of(gather(point, words, limit));
  const FailureReport* const cause = first_cause(reports);
  if (cause == nullptr) return;
  if (cause->rank == place.rank && failure) std::rethrow_exception(failure);
  rethrow(*cause);
}

std::vector<std::string> gather_all(const std::string& own, double seconds) {
  return gather_from(meeting_point(seconds), own, seconds);
}

/// Ranks tell each other which cores they may use; once, as neither that nor their places change.
std::vector<int> shared_threads() {
  static const std::vector<int> threads = [] {
    const CoreClaim own = own_core_claim();
    const std::string word(reinterpret_cast<const char*>(&own), sizeof own);
    std::vector<CoreClaim> claims;
    for (const std::string& words : gather_all(word, least_agreement_seconds)) {
      if (words.size() != sizeof own) throw SystemError("nccl: a rank sent a broken word");
      std::memcpy(&claims.emplace_back(), words.data(), sizeof own);
    }
    std::vector<int> each;
    for (const double cores : core_shares(claims)) each.push_back(threads_of_share(cores));
    return each;
  }();
  return threads;
}

void launch(const LaunchRequest& request, const RankProgram& program) {
  if (request.ranks < 1) throw InvalidRequest("--ranks", fmt::format("{} ranks; at least 1 is needed", request.ranks));
  if (own_place().launched()) return launch_process(request, program);
  launch_threads(request, program);
}

const Register<CommunicatorTag> registered{{
    "nccl",
    "one GPU per rank; ranks are threads, or processes of torchrun, mpirun or srun",
    "NVIDIA, NCCL User Guide, 2.14 and newer",
    {},
    {launch, [] { return own_place().rank; }, [] { return own_place().launched() ? own_place().size : 0; }, nullptr,
     shared_threads, gather_all},
    {},
}};

}  // namespace
}  // namespace strobe::nccl
