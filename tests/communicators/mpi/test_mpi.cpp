// Conformance of communicator mpi, run by mpirun. Rank 0 prints one line per case; a rank that sees a fault prints it
// with its number. After each case all ranks agree on its verdict, so all leave with the same status.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <string>

#include "backends/mpi/operation.hpp"
#include "tests/conformance/collectives/host_work.hpp"

namespace strobe {
namespace {

const CommunicatorTag::Value& mpi_communicator() { return CommunicatorRegistry::instance().find("mpi").value; }

LaunchRequest request_of(int ranks) {
  LaunchRequest request;
  request.ranks = ranks;
  request.timeout_seconds = 20;
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  return request;
}

/// Runs a check on every rank; returns whether it held on all of them.
bool holds_everywhere(const std::string& name, const std::function<void()>& check) {
  const int rank = mpi_communicator().process_rank();
  int failed = 0;
  try {
    check();
  } catch (const std::exception& failure) {
    failed = 1;
    std::printf("rank %d: %s: %s\n", rank, name.c_str(), failure.what());
    std::fflush(stdout);
  }
  int failed_ranks = 0;
  MPI_Allreduce(&failed, &failed_ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("[%s] %s\n", failed_ranks == 0 ? "ok" : "FAILED", name.c_str());
    std::fflush(stdout);
  }
  return failed_ranks == 0;
}

void refuses_another_size() {
  const int size = mpi_communicator().world_size();
  try {
    mpi_communicator().launch(request_of(size + 1), [](Device&, Communicator&) {});
  } catch (const Unavailable& refused) {
    const std::string wanted = "mpirun -n " + std::to_string(size + 1);
    if (std::string(refused.what()).find(wanted) != std::string::npos) return;
    throw conformance::ConformanceFailure(std::string("the refusal does not name the command: ") + refused.what());
  }
  throw conformance::ConformanceFailure("another number of ranks than the world's is not refused");
}

void dropped_collective_does_no_harm(const LaunchRequest& request) {
  mpi_communicator().launch(request, [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(100, 1, ElementType::f32);
    for (float& value : tensor.values<float>()) value = 1;
    if (c.rank() == 0) const Request dropped = c.start_all_reduce(tensor, Traffic::gradient);
  });
}

/// Texts travel in units of 1 KiB, so that their numbers fit an int. Lengths lie on both sides of whole units.
void gathers_texts_of_every_length() {
  const int own = mpi_communicator().process_rank();
  const auto text_of = [](int rank, std::size_t length) {
    std::string text(length, '\0');
    for (std::size_t i = 0; i < length; ++i)
      text[i] = static_cast<char>((i * 7 + static_cast<std::size_t>(rank)) % 251);
    return text;
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{1024},
                                   std::size_t{1025}, std::size_t{3} << 20}) {
    const auto length_of = [&](int rank) { return rank % 2 == 0 ? length : length / 2; };
    const std::vector<std::string> all = mpi_communicator().gather(text_of(own, length_of(own)), 20);
    for (int rank = 0; rank < mpi_communicator().world_size(); ++rank) {
      if (all.at(static_cast<std::size_t>(rank)) == text_of(rank, length_of(rank))) continue;
      throw conformance::ConformanceFailure("a text of " + std::to_string(length_of(rank)) +
                                            " bytes came back changed");
    }
  }
}

int run_all() {
  const int ranks = mpi_communicator().world_size();
  const LaunchRequest request = request_of(ranks);
  int failures = 0;
  const auto run = [&](const std::string& name, const std::function<void()>& check) {
    failures += holds_everywhere(name, check) ? 0 : 1;
  };
  const auto run_programs = [&](const std::string& prefix, std::span<const conformance::CollectiveCase> cases) {
    for (const conformance::CollectiveCase& c : cases) {
      run(prefix + std::string(c.name), [&] { mpi_communicator().launch(request, c.program); });
    }
  };
  run("refuses another size", refuses_another_size);
  run("gathers texts of every length", gathers_texts_of_every_length);
  run_programs("", conformance::value_cases());
  run_programs("", conformance::span_cases());
  mpi::most_bytes_per_count = 64;  // takes the code path of buffers beyond 2 GiB
  run_programs("counted in rows: ", conformance::value_cases());
  mpi::most_bytes_per_count = std::numeric_limits<int>::max();
  for (const conformance::FailureCase& c : conformance::failure_cases()) {
    if (ranks >= c.least_ranks) run(std::string(c.name), [&] { c.run(mpi_communicator(), request); });
  }
  for (const conformance::FailureCase& c : conformance::helper_cases()) {
    if (ranks >= c.least_ranks) run(std::string(c.name), [&] { c.run(mpi_communicator(), request); });
  }
  run("a dropped collective does no harm", [&] { dropped_collective_does_no_harm(request); });
  run("the whole suite in one program", [&] { mpi_communicator().launch(request, conformance::check_collectives); });
  return failures;
}

}  // namespace
}  // namespace strobe

int main() {
  const int failures = strobe::run_all();
  if (strobe::mpi_communicator().process_rank() == 0) std::printf("%d cases failed\n", failures);
  return failures == 0 ? 0 : 1;
}
