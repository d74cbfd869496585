// Failure cases: a communicator must end with the right cause on every rank that takes part, in bounded time, and serve
// the next launch as if nothing had happened.
#include "tests/conformance/collectives/failures.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "core/system/interrupt.hpp"

namespace strobe::conformance {
namespace {

void last_rank_stays_away(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device&, Communicator& c) {
    c.barrier();
    if (c.rank() != c.size() - 1) c.barrier();
  };
  launch_times_out(communicator, request, program, "barrier", {request.ranks - 1});
}

void two_ranks_stay_away(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(8, 1, ElementType::f64);
    std::fill_n(tensor.data<double>(), 8, 1.0);
    if (c.rank() == 0 || c.rank() > 2) c.all_reduce(tensor, Traffic::gradient);
  };
  launch_times_out(communicator, request, program, "all_reduce", {1, 2});
}

void message_is_never_sent(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(4, 1, ElementType::f64);
    if (c.rank() == 0) c.receive(tensor, 1, 7, Traffic::state);
  };
  launch_times_out(communicator, request, program, "receive", {1});
}

void rank_fails(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(100000, 1, ElementType::f32);
    std::fill_n(tensor.data<float>(), 100000, 1.0F);
    Request under_way = c.start_broadcast(tensor, 0, Traffic::state);
    if (c.rank() == c.size() - 1) throw InvalidInput("graph.csv", 3, 1, "deliberate");
    c.wait(under_way);
    c.barrier();
  };
  const auto begin = std::chrono::steady_clock::now();
  launch_fails_with<InvalidInput>(communicator, with_timeout(request, long_timeout_seconds), program,
                                  [](const InvalidInput& cause) {
                                    require(std::string(cause.what()) == "graph.csv:3:1: deliberate",
                                            fmt::format("the cause has changed: {}", cause.what()));
                                  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  require(took.count() < long_timeout_seconds / 2, "peers of a failed rank did not hear of it");
}

void rank_is_out_of_memory(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest limited = with_timeout(request, long_timeout_seconds);
  limited.device.memory_limit_bytes = 1000;
  const auto program = [](Device& device, Communicator& c) {
    if (c.rank() == c.size() - 1) device.allocate(1001, 1, ElementType::u8);
    c.barrier();
  };
  launch_fails_with<OutOfMemory>(communicator, limited, program, [&](const OutOfMemory& cause) {
    require(cause.rank() == request.ranks - 1, fmt::format("the wrong rank is out of memory: {}", cause.what()));
    require(contains(cause, "1001"), fmt::format("the message has lost its figures: {}", cause.what()));
  });
}

void ranks_call_different_collectives(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(8, 1, ElementType::f64);
    std::fill_n(tensor.data<double>(), 8, 1.0);
    if (c.rank() == 0) return c.barrier();
    c.all_reduce(tensor, Traffic::gradient);
  };
  launch_fails_with<Error>(communicator, with_timeout(request, long_timeout_seconds), program, [](const Error& cause) {
    require(contains(cause, "barrier") && contains(cause, "all_reduce"),
            fmt::format("a disagreement does not name both collectives: {}", cause.what()));
  });
}

void ranks_disagree_about_rows(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor send = device.allocate(5, 2, ElementType::f32);
    const Tensor receive = device.allocate(5, 2, ElementType::f32);
    std::vector<PeerRows> out(c.size()), in(out);
    if (c.rank() == 0) out[1] = {0, 3};
    if (c.rank() == 1) in[0] = {0, 2};
    c.all_to_all_v(send, out, receive, in, Traffic::halo);
    c.barrier();
  };
  launch_fails_with<Error>(communicator, with_timeout(request, long_timeout_seconds), program, [](const Error& cause) {
    require(contains(cause, "3 rows") && contains(cause, "expects 2"),
            fmt::format("a disagreement does not name both row counts: {}", cause.what()));
  });
}

void ranks_disagree_about_the_reduction(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(8, 1, ElementType::f64);
    std::fill_n(tensor.data<double>(), 8, 1.0);
    c.all_reduce(tensor, Traffic::gradient, c.rank() == 1 ? Reduction::max : Reduction::sum);
  };
  launch_fails_with<Error>(communicator, with_timeout(request, long_timeout_seconds), program, [](const Error& cause) {
    require(contains(cause, "ranks disagree") && contains(cause, "takes the sum") && contains(cause, "takes the max"),
            fmt::format("a disagreement does not name both reductions: {}", cause.what()));
  });
}

void user_interrupts(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  struct Reset {
    ~Reset() { stop_signal() = 0; }
  } reset;
  const auto program = [](Device&, Communicator& c) {
    if (c.rank() == 0) stop_signal() = SIGINT;
    if (c.rank() != c.size() - 1) c.barrier();
  };
  launch_fails_with<Interrupted>(
      communicator, with_timeout(request, long_timeout_seconds), program,
      [](const Interrupted& cause) { require(cause.signal() == SIGINT, "the signal's number is lost"); });
}

void next_launch_works(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  communicator.launch(with_timeout(request, long_timeout_seconds), [](Device& device, Communicator& c) {
    const Tensor ones = device.allocate(3, 1, ElementType::i64);
    std::fill_n(ones.data<std::int64_t>(), 3, 1);
    c.all_reduce(ones, Traffic::gradient);
    expect(ones.data<std::int64_t>()[2] == c.size(), c, "the sum after earlier failures is wrong");
  });
}

constexpr FailureCase cases[] = {
    {"last rank stays away", 2, last_rank_stays_away},
    {"two ranks stay away", 3, two_ranks_stay_away},
    {"message is never sent", 2, message_is_never_sent},
    {"rank fails", 1, rank_fails},
    {"rank is out of memory", 1, rank_is_out_of_memory},
    {"next launch works", 1, next_launch_works},
    {"ranks call different collectives", 2, ranks_call_different_collectives},
    {"ranks disagree about rows", 2, ranks_disagree_about_rows},
    {"ranks disagree about the reduction", 2, ranks_disagree_about_the_reduction},
    {"user interrupts", 2, user_interrupts},
    {"launch after all failures works", 1, next_launch_works},
};

}  // namespace

std::span<const FailureCase> failure_cases() {
  static const std::vector<FailureCase> all = [] {
    std::vector<FailureCase> joined(std::begin(cases), std::end(cases));
    for (const auto more : {group_failure_cases()}) joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return all;
}

}  // namespace strobe::conformance
