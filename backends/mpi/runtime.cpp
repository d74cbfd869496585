// Invariant: no function waits without a limit for a rank that may not come. Calls of MPI that nobody can leave
// (MPI_Init, MPI_Comm_dup, MPI_Comm_create_group, dividing a node's cores, MPI_Finalize) run in the scope of a
// LaunchWait.
#include "backends/mpi/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <thread>

#include "backends/agreement.hpp"
#include "backends/launch_mates.hpp"
#include "backends/launch_wait.hpp"
#include "backends/lost_ranks.hpp"
#include "backends/mpi/mpi_call.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/machine_limits.hpp"

namespace strobe::mpi {
namespace {

MPI_Comm duplicate(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
  return copy;
}

/// Tests the request, doing `meanwhile` between tests, until it has completed or `gives_up` says so of the seconds that
/// have passed.
template <class Meanwhile, class GivesUp>
bool complete_unless(MPI_Request& request, const Meanwhile& meanwhile, const GivesUp& gives_up) {
  WaitedTime waited;
  for (int tries = 0; !test(request); ++tries) {
    meanwhile();
    if (gives_up(waited.seconds())) return false;
    if (tries < 100) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return true;
}

/// Texts of all ranks one after the other, each from a new unit on. MPI counts units in 32 bits, not bytes.
struct UnitTexts {
  static constexpr std::int64_t unit_bytes = 1024;
  std::string bytes;
  std::vector<std::int64_t> sizes;   // of the texts, by rank
  std::vector<int> counts, offsets;  // in units, by rank

  /// Makes room for texts of these sizes.
  void reserve() {
    std::int64_t total = 0;
    for (const std::int64_t size : sizes) {
      const std::int64_t units = (size + unit_bytes - 1) / unit_bytes;
      if (total + units > std::numeric_limits<int>::max()) throw SystemError("mpi: an exchange of more than 2 TiB");
      counts.push_back(static_cast<int>(units));
      offsets.push_back(static_cast<int>(total));
      total += units;
    }
    bytes.resize(static_cast<std::size_t>(total * unit_bytes));
  }
  void put(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) sizes.push_back(static_cast<std::int64_t>(text.size()));
    reserve();
    for (std::size_t r = 0; r < texts.size(); ++r) texts[r].copy(bytes.data() + begin(r), texts[r].size());
  }
  /// Texts of these sizes, to be taken.
  std::vector<std::string> blank() const {
    std::vector<std::string> texts;
    for (const std::int64_t size : sizes) texts.emplace_back(static_cast<std::size_t>(size), ' ');
    return texts;
  }
  void take(std::vector<std::string>& texts) const {
    for (std::size_t r = 0; r < texts.size(); ++r) bytes.copy(texts[r].data(), texts[r].size(), begin(r));
  }

 private:
  std::size_t begin(std::size_t rank) const { return static_cast<std::size_t>(offsets[rank] * unit_bytes); }
};

/// Returns the exception of the work, or null.
template <class Work>
std::exception_ptr failure_of(const Work& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// A unit of UnitTexts.
MPI_Datatype unit_type() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(UnitTexts::unit_bytes, MPI_BYTE, &made), "MPI_Type_contiguous");
    check(MPI_Type_commit(&made), "MPI_Type_commit");
    return made;
  }();
  return type;
}

}  // namespace

bool launched_by_mpi() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  // Slurm sets SLURM_NTASKS for batch scripts too; only a task that srun started has a step as well.
  return std::getenv("SLURM_NTASKS") != nullptr && std::getenv("SLURM_STEP_ID") != nullptr;
}

Runtime& Runtime::instance() {
  static Runtime runtime;
  return runtime;
}

Runtime::Runtime() {
  const LaunchWait wait("to join the launch");
  int initialised = 0;
  check(MPI_Initialized(&initialised), "MPI_Initialized");
  if (initialised == 0) {
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    owner_ = true;
    if (provided < MPI_THREAD_FUNNELED)
      throw SystemError("MPI_Init_thread: MPI does not allow threads other than the caller's");
  }
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  share_cores();
  control_ = duplicate(MPI_COMM_WORLD);
}

void Runtime::share_cores() {
  MPI_Comm local = MPI_COMM_NULL;
  int local_rank = 0, local_size = 1;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local), "MPI_Comm_split_type");
  check(MPI_Comm_size(local, &local_size), "MPI_Comm_size");
  check(MPI_Comm_rank(local, &local_rank), "MPI_Comm_rank");
  CoreClaim own = own_core_claim();
  own.node = 0;  // these ranks are of one node, as MPI has found
  std::vector<CoreClaim> claims(local_size);
  constexpr int bytes = sizeof(CoreClaim);
  check(MPI_Allgather(&own, bytes, MPI_BYTE, claims.data(), bytes, MPI_BYTE, local), "MPI_Allgather");
  check(MPI_Comm_free(&local), "MPI_Comm_free");
  cores_ = core_shares(claims)[local_rank];
  const int threads = threads_of_share(cores_);
  threads_.resize(size_);
  check(MPI_Allgather(&threads, 1, MPI_INT, threads_.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
}

Runtime::~Runtime() {
  int finalised = 0;
  if (!owner_ || MPI_Finalized(&finalised) != MPI_SUCCESS || finalised != 0) return;
  // Rank 0 writes the results: leave it the time to do so, since an abort ends all ranks.
  if (broken_ && rank_ != 0 && !first_lost_) std::this_thread::sleep_for(std::chrono::seconds(5));
  {
    const LaunchWait wait("to leave the launch", true);  // rank 0 may still write
    if (broken_) {
      std::fflush(nullptr);
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Finalize();
  }
  leave_with_others();
}

Session Runtime::make_session() const {
  const LaunchWait wait("to begin a case");
  return {duplicate(control_), duplicate(control_), duplicate(control_), duplicate(control_), duplicate(control_), 0};
}

Session Runtime::make_session(const std::vector<int>& members) const {
  const LaunchWait wait("to form a group of ranks");
  constexpr int tag = 0;  // groups that share ranks are made one after the other
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_group(control_, &world), "MPI_Comm_group");
  check(MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group), "MPI_Group_incl");
  check(MPI_Comm_create_group(control_, group, tag, &made), "MPI_Comm_create_group");
  check(MPI_Group_free(&group), "MPI_Group_free");
  check(MPI_Group_free(&world), "MPI_Group_free");
  check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return {made, duplicate(made), duplicate(made), duplicate(made), MPI_COMM_NULL, 0};
}

Session& Runtime::group_session(const std::vector<int>& members) {
  const int use = group_uses_[members]++;
  Session& session = group_sessions_[{members, use}];
  if (session.data == MPI_COMM_NULL) session = make_session(members);
  session.name = static_cast<std::int64_t>(fingerprint({members, {use}}));
  return session;
}

MPI_Comm Runtime::new_communicator() const {
  const LaunchWait wait("to begin a case");
  return duplicate(control_);
}

void Runtime::await_all(double seconds) {
  if (broken_) throw SystemError("mpi: ranks were lost in an earlier launch");
  MPI_Request all_here = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(control_, &all_here), "MPI_Ibarrier");
  complete_or_lose(all_here, seconds);
}

void Runtime::complete_or_lose(MPI_Request& request, double seconds) {
  const auto look = [&] {
    const int signal = stop_signal().load();
    if (signal == 0) return;
    broken_ = true;
    throw Interrupted(signal);
  };
  LaunchMates mates;
  WaitVerdict verdict;
  double next = seconds;
  const auto gives_up = [&](double waited) {
    if (waited < next) return false;
    next = waited + 1;
    mates = look_at_launch();
    verdict = judge_wait(mates, waited, seconds, false);
    return verdict.over;
  };
  if (complete_unless(request, look, gives_up)) return;
  lose_ranks(verdict.blamed);
  throw RanksLost(fmt::format("to agree with the other ranks takes longer than {:g} s (--timeout); waiting for: {}. "
                              "The run ends here. Finished epochs stay on disk; continue with --resume",
                              seconds, verdict.words),
                  mates.states.empty() || mates.lowest_running() == mates.own);
}

void Runtime::lose_ranks(const std::vector<int>& lost) {
  broken_ = true;
  first_lost_ = first_lost_ || std::find(lost.begin(), lost.end(), 0) != lost.end();
}

std::vector<std::string> Runtime::gather(const std::string& own, double seconds) {
  struct Words {
    std::string own;
    std::int64_t size = 0;
    UnitTexts all;
  };
  await_all(seconds);
  const auto words = std::make_shared<Words>();
  UnitTexts& all = words->all;
  words->own = own;
  words->size = static_cast<std::int64_t>(own.size());
  all.sizes.resize(size_);
  MPI_Request sizes = MPI_REQUEST_NULL, texts = MPI_REQUEST_NULL;
  try {
    check(MPI_Iallgather(&words->size, 1, MPI_INT64_T, all.sizes.data(), 1, MPI_INT64_T, control_, &sizes),
          "MPI_Iallgather");
    complete_or_lose(sizes, seconds);
    all.reserve();
    const int units = all.counts[static_cast<std::size_t>(rank_)];
    words->own.resize(static_cast<std::size_t>(units * UnitTexts::unit_bytes));
    check(MPI_Iallgatherv(words->own.data(), units, unit_type(), all.bytes.data(), all.counts.data(),
                          all.offsets.data(), unit_type(), control_, &texts),
          "MPI_Iallgatherv");
    complete_or_lose(texts, seconds);
  } catch (...) {
    abandon(words);
    throw;
  }
  std::vector<std::string> received = all.blank();
  all.take(received);
  return received;
}

void Runtime::agree(std::exception_ptr failure, double seconds) {
  const auto ranks = std::make_shared<std::array<int, 2>>();
  (*ranks)[0] = failure ? rank_ + 1 : 0;
  MPI_Request agreed = MPI_REQUEST_NULL;
  try {
    check(MPI_Iallreduce(&(*ranks)[0], &(*ranks)[1], 1, MPI_INT, MPI_MAX, exchanges_, &agreed), "MPI_Iallreduce");
    complete_or_lose(agreed, seconds);
  } catch (...) {
    abandon(ranks);
    throw;
  }
  if (failure) std::rethrow_exception(failure);
  if ((*ranks)[1] > 0) throw SystemError(fmt::format("rank {} lacks memory for an exchange", (*ranks)[1] - 1));
}

std::vector<std::string> Runtime::all_to_all(const std::vector<std::string>& to, double seconds) {
  struct Words {
    UnitTexts out, in;
  };
  if (exchanges_ == MPI_COMM_NULL) {
    await_all(seconds);
    exchanges_ = new_communicator();
  }
  if (broken_) throw SystemError("mpi: ranks were lost in an earlier launch");
  const auto words = std::make_shared<Words>();
  UnitTexts &out = words->out, &in = words->in;
  in.sizes.resize(size_);
  std::vector<std::string> received;
  const std::exception_ptr unsent = failure_of([&] { out.put(to); });
  MPI_Request sizes = MPI_REQUEST_NULL, texts = MPI_REQUEST_NULL;
  try {
    check(MPI_Ialltoall(out.sizes.data(), 1, MPI_INT64_T, in.sizes.data(), 1, MPI_INT64_T, exchanges_, &sizes),
          "MPI_Ialltoall");
    complete_or_lose(sizes, seconds);
    const std::exception_ptr unread = failure_of([&] { in.reserve(), received = in.blank(); });
    agree(unsent ? unsent : unread, seconds);
    check(MPI_Ialltoallv(out.bytes.data(), out.counts.data(), out.offsets.data(), unit_type(), in.bytes.data(),
                         in.counts.data(), in.offsets.data(), unit_type(), exchanges_, &texts),
          "MPI_Ialltoallv");
    complete_or_lose(texts, seconds);
  } catch (...) {
    abandon(words);
    throw;
  }
  in.take(received);
  return received;
}

Session& Runtime::begin_launch(double seconds) {
  await_all(seconds);
  if (session_.data == MPI_COMM_NULL) session_ = make_session();
  group_uses_.clear();
  return session_;
}

std::vector<FailureReport> Runtime::end_launch(const FailureReport& own, SideChannel& side,
                                               const EndPatience& patience) {
  // On the heap, because MPI keeps writing to it when ranks do not agree in time.
  auto reports = std::make_shared<std::vector<FailureReport>>(static_cast<std::size_t>(size_) + 1);
  reports->back() = own;
  constexpr int bytes = sizeof(FailureReport);
  MPI_Request all_told = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&reports->back(), bytes, MPI_BYTE, reports->data(), bytes, MPI_BYTE, control_, &all_told),
        "MPI_Iallgather");
  double next = patience.look_seconds;
  const auto gives_up = [&](double waited) {
    if (waited > patience.most_seconds) return true;
    if (waited < next) return false;
    next = waited + patience.look_seconds;
    return !stopped_among(side.silent_ranks()).empty();
  };
  if (!complete_unless(
          all_told, [&] { side.serve_sometimes(Clock::now()); }, gives_up)) {
    broken_ = true;
    abandon(std::move(reports));
    return {};
  }
  reports->pop_back();
  return *reports;
}

std::vector<int> Runtime::stopped_among(const std::vector<int>& silent) const {
  std::vector<int> stopped;
  const LaunchMates mates = silent.empty() ? LaunchMates() : look_at_launch();
  for (const int rank : silent) {
    const std::size_t r = rank;
    if (r >= mates.states.size() || mates.states[r] != MateState::running) stopped.push_back(rank);
  }
  return stopped;
}

void Runtime::abandon(std::shared_ptr<void> buffers) {
  // Never destroyed: MPI may write to them until it is finalised, and this object ends after other statics.
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  kept->push_back(std::move(buffers));
}

}  // namespace strobe::mpi
