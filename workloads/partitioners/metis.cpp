// METIS k-way partitioning of the graph merged over all steps: the weight of an edge is the number of steps in which
// its ends are neighbours. The weight of a vertex is the work of its rows (non-zeros and steps). METIS minimises cut
// edges, a proxy of the halo. The halo counts each vertex once per rank that reads it (ESDG section 4.1's hypergraph
// model counts that exactly). Returns: parts within METIS's default imbalance; a part that METIS leaves empty gets a
// vertex of the largest one.
// Cost: O(nnz log d) to merge lists of d entries, then METIS.
// Source: Karypis and Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SISC 20(1),
// 1998.
#include <metis.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <thread>

#include "core/errors.hpp"
#include "core/names_elsewhere.hpp"
#include "core/system/process_memory.hpp"
#include "core/system/threads.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/partitioners/vertex_lists.hpp"

namespace strobe {
namespace {

/// The graph in METIS's own numbers. METIS reads it where it lies, under a bound of memory in temporary files. It takes
/// memory of its own in addition, which no bound reaches.
struct MetisGraph {
  GrowingColumn<idx_t> offsets, neighbours, edge_weights, vertex_weights;
};

/// `values` in METIS's numbers. Releases them.
GrowingColumn<idx_t> narrow(Column<std::int64_t>& values) {
  GrowingColumn<idx_t> narrowed(values.size(), reading_bound());
  std::transform(values.begin(), values.end(), narrowed.begin(),
                 [](std::int64_t value) { return static_cast<idx_t>(value); });
  values.clear();
  return narrowed;
}

/// METIS adds weights up in its own numbers, so their sum must fit as well.
void check_sums(const WeightedGraph& graph) {
  const auto sum = [](const Column<std::int64_t>& of) {
    return std::accumulate(of.begin(), of.end(), std::int64_t{0});
  };
  const std::int64_t largest = std::max({graph.offsets.back(), sum(graph.edge_weights), sum(graph.vertex_weights)});
  if (largest <= std::numeric_limits<idx_t>::max()) return;
  throw InvalidRequest("/strategy",
                       "the graph is too large for this METIS, which counts in 32 bits; use another way to divide it");
}

WeightedGraph merge(const PreparedGraph& graph) {
  const VertexLists lists = merged_lists(graph, {0, graph.vertices});
  const auto widened = [](const auto& values) { return std::vector<std::int64_t>(values.begin(), values.end()); };
  return {lists.offsets, widened(lists.neighbours), widened(lists.weights), lists.work};
}

/// METIS's status; fills `part` [vertices].
int call_metis(MetisGraph& graph, int parts, std::uint64_t seed, std::span<idx_t> part) {
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed & 0x7fffffff);
  idx_t vertices = static_cast<idx_t>(part.size()), constraints = 1, wanted = parts, cut = 0;
  return METIS_PartGraphKway(&vertices, &constraints, graph.offsets.data(), graph.neighbours.data(),
                             graph.vertex_weights.data(), nullptr, graph.edge_weights.data(), &wanted, nullptr, nullptr,
                             options, &cut, part.data());
}

/// While one lives, SIGTERM from outside reaches the program's own handler. METIS installs a handler that jumps out of
/// any code that it interrupts, even an allocation, and reports a request to stop as an error. The calling thread
/// blocks the signal, and a second thread waits for it. METIS raises SIGTERM in its own thread for its own errors;
/// failed() takes that one. Threads of others, such as MPI's, take the signal as before.
class SignalsPastMetis {
 public:
  SignalsPastMetis() {
    sigemptyset(&terms_);
    sigaddset(&terms_, SIGTERM);
    sigaction(SIGTERM, nullptr, &program_);
    pthread_sigmask(SIG_BLOCK, &terms_, &mask_);
    try {
      waiting_ = start_thread("METIS's signals", [this] {
        return std::jthread([this](const std::stop_token& stop) { wait(stop); });  // inherits the mask
      });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
      throw;
    }
  }
  ~SignalsPastMetis() {
    waiting_ = {};
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalsPastMetis(const SignalsPastMetis&) = delete;
  SignalsPastMetis& operator=(const SignalsPastMetis&) = delete;

  /// Whether METIS has raised the signal; takes it away.
  bool failed() const {
    const timespec now{};
    siginfo_t info{};
    if (sigtimedwait(&terms_, &info, &now) != SIGTERM) return false;
    if (info.si_pid != getpid()) pass_on();
    return info.si_pid == getpid();
  }

 private:
  void wait(const std::stop_token& stop) const {
    const timespec moment{0, 2'000'000};
    while (!stop.stop_requested()) {
      if (sigtimedwait(&terms_, nullptr, &moment) == SIGTERM) pass_on();
      if (spares_process_memory()) look_at_process_memory();  // no bound reaches METIS, but a limit knows what it takes
    }
  }
  void pass_on() const {
    if (program_.sa_handler == SIG_DFL) _exit(128 + SIGTERM);
    if (program_.sa_handler != SIG_IGN) program_.sa_handler(SIGTERM);
  }

  sigset_t terms_{}, mask_{};
  struct sigaction program_ {};
  std::jthread waiting_;
};

void run_metis(MetisGraph& graph, int parts, std::uint64_t seed, std::span<idx_t> part) {
  const SignalsPastMetis signals;
  const int status = call_metis(graph, parts, seed, part);
  if (status == METIS_ERROR_MEMORY) throw SystemError("METIS ran out of memory");
  if (status != METIS_OK || signals.failed()) throw SystemError("METIS failed with status " + std::to_string(status));
}

GrowingColumn<Rank> parts_of_weighted(WeightedGraph graph, int parts, std::uint64_t seed) {
  GrowingColumn<idx_t> part(graph.vertex_weights.size(), reading_bound());
  if (parts > 1 && !part.empty()) {
    check_sums(graph);
    MetisGraph own{narrow(graph.offsets), narrow(graph.neighbours), narrow(graph.edge_weights),
                   narrow(graph.vertex_weights)};
    run_metis(own, parts, seed, {part.data(), part.size()});
  }
  GrowingColumn<Rank> owner(part.size(), reading_bound());
  std::copy(part.begin(), part.end(), owner.begin());
  fill_empty_parts({owner.data(), owner.size()}, parts);
  return owner;
}

std::vector<Rank> partition_by_metis(const PreparedGraph& graph, int parts, std::uint64_t seed) {
  require_structure(graph, "metis");
  if (parts == 1) return std::vector<Rank>(graph.vertices, 0);
  const GrowingColumn<Rank> owner = parts_of_weighted(merge(graph), parts, seed);
  return {owner.begin(), owner.end()};
}

const Register<PartitionerTag> registered{{"metis",
                                           "METIS k-way on the graph merged over steps, vertices weighted by work",
                                           "Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998",
                                           {},
                                           PartitionerTag::Value(partition_by_metis).on_weighted(parts_of_weighted),
                                           {}}};

const RegisterNames metis_elsewhere{"partitioner", {{"parmetis", "metis", ""}}};

}  // namespace
}  // namespace strobe
