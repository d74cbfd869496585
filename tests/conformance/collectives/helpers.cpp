// Cases of helpers that run next to the ranks. One helper keeps an array for all trainers and serves them in turn,
// reads before writes, like a memory daemon (DistTGL, SC'23, Algorithm 1). So a request that overtakes another changes
// the values.
#include "backends/host/helpers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "backends/host/host_work.hpp"
#include "tests/conformance/collectives/failures.hpp"
#include "tests/conformance/collectives/host_work.hpp"

namespace strobe::conformance {
namespace {

constexpr int kept_values = 6, helper_rounds = 5;

/// Channel 2 r reads all values for rank r, channel 2 r + 1 writes them.
HelperRequest keeper_of(int ranks, std::function<void(HelperPost&)> program) {
  HelperRequest helper;
  helper.name = "keeper";
  for (int rank = 0; rank < ranks; ++rank) {
    helper.channels.push_back({"read", rank, 0, kept_values * sizeof(double)});
    helper.channels.push_back({"write", rank, kept_values * sizeof(double), 0});
  }
  helper.program = std::move(program);
  return helper;
}

HostWork copying(std::function<void(Workers&)> body) {
  HostWork work;
  work.name = "copy_values";
  work.work = {0, kept_values * sizeof(double), kept_values * sizeof(double)};
  work.body = std::move(body);
  return work;
}

/// Serves all reads of a round, then all writes, by rank, until the trainers end.
void keep_values(HelperPost& post) {
  std::vector<double> values(kept_values, 1.0);
  const std::size_t trainers = post.channels().size() / 2;
  for (;;) {
    for (std::size_t t = 0; t < trainers; ++t) {
      if (!post.await_request(2 * t, t == 0 ? Patience::unlimited : Patience::limited)) return;
      post.run(copying([&](Workers&) { std::copy_n(values.data(), kept_values, post.answer(2 * t).data<double>()); }));
      post.give_answer(2 * t);
    }
    for (std::size_t t = 0; t < trainers; ++t) {
      if (!post.await_request(2 * t + 1, Patience::limited)) return;
      post.run(copying([&](Workers&) {
        const double* const sent = post.request(2 * t + 1).data<double>();
        for (int i = 0; i < kept_values; ++i) values[i] += sent[i];
      }));
      post.give_answer(2 * t + 1);
    }
  }
}

/// One round of a trainer: every rank adds (rank + 1) times the values that it has read.
void train_a_round(Device& device, Communicator& c, double wanted) {
  TrainerChannel &read = c.channel(0, 2 * static_cast<std::size_t>(c.rank())),
                 &write = c.channel(0, 2 * static_cast<std::size_t>(c.rank()) + 1);
  const Tensor tensor = device.allocate(kept_values, 1, ElementType::f64);
  const DeviceEvent asked = device.record(Stream::compute), answered = read.ask();
  const DeviceEvent in = device.start_stream_in(read.answer(), tensor, {asked, answered});
  device.wait(Stream::compute, in);
  const Tensor sum = device.allocate(kept_values, 1, ElementType::f64);
  device.run(Fill{sum, 0});
  device.run(AddScaled{tensor, sum, static_cast<double>(c.rank()) + 1});
  const DeviceEvent out = device.start_move_out(sum, write.request());
  device.wait(Stream::compute, out);
  const DeviceEvent written = write.ask({out});
  device.await(written);
  for (int i = 0; i < kept_values; ++i) {
    expect(read.answer().data<double>()[i] == wanted, c,
           fmt::format("value {} is {}, not {}", i, read.answer().data<double>()[i], wanted));
  }
}

void a_helper_serves_all_trainers_in_turn(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.helpers = {keeper_of(request.ranks, keep_values)};
  communicator.launch(with, [](Device& device, Communicator& c) {
    double wanted = 1;
    for (int round = 0; round < helper_rounds; ++round) {
      train_a_round(device, c, wanted);
      wanted *= 1 + c.size() * (c.size() + 1) / 2.0;
    }
    c.barrier();
  });
}

/// Every rank asks ahead for the round after this one; the helper gives it only when this one's write is there.
void trainers_may_ask_ahead(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.helpers = {keeper_of(request.ranks, keep_values)};
  communicator.launch(with, [](Device& device, Communicator& c) {
    TrainerChannel &read = c.channel(0, 2 * static_cast<std::size_t>(c.rank())),
                   &write = c.channel(0, 2 * static_cast<std::size_t>(c.rank()) + 1);
    DeviceEvent answered = read.ask(), written;
    double last = 0;
    for (int round = 0; round < helper_rounds; ++round) {
      HostWork take;
      take.name = "take";
      take.body = [&last, memory = read.answer()](Workers&) { last = memory.data<double>()[0]; };
      take.after = {answered};
      const DeviceEvent taken = device.run_on_host(std::move(take));
      if (round + 1 < helper_rounds) answered = read.ask({taken});  // before the write that it waits for
      HostWork give;
      give.name = "give";
      give.body = [&last, memory = write.request()](Workers&) {
        std::fill_n(memory.data<double>(), kept_values, last);
      };
      give.after = {taken, written};
      written = write.ask({device.run_on_host(std::move(give))});
    }
    device.await(written);
    double wanted = 1;
    for (int round = 1; round < helper_rounds; ++round) wanted *= 1 + c.size();
    expect(last == wanted, c, fmt::format("the last round read {}, not {}", last, wanted));
    device.synchronize();
  });
}

/// Launches; it must fail, and say `text`.
void launch_says(const CommunicatorTag::Value& communicator, const LaunchRequest& request, const RankProgram& program,
                 std::string_view text) {
  launch_fails_with<Error>(communicator, request, program, [&](const Error& cause) {
    require(contains(cause, text), fmt::format("'{}' does not say '{}'", cause.what(), text));
  });
}

void read_once(Device& device, Communicator& c) {
  device.await(c.channel(0, 2 * static_cast<std::size_t>(c.rank())).ask());
  c.barrier();
}

void a_helper_that_fails_is_named(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.helpers = {keeper_of(request.ranks, [](HelperPost& post) {
    if (post.await_request(0, Patience::limited)) throw Error("its memory is broken");
  })};
  launch_says(communicator, with, read_once, "helper keeper failed: its memory is broken");
}

void a_helper_that_does_not_answer_is_named(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.timeout_seconds = short_timeout_seconds;
  with.helpers = {keeper_of(request.ranks, [](HelperPost& post) {
    while (post.await_request(0, Patience::unlimited)) {
    }
  })};
  // The first trainer to give up ends the helper, and another may see that before its own time is over.
  launch_says(communicator, with, read_once, "helper keeper");
}

void a_helper_that_ends_early_is_named(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.helpers = {keeper_of(request.ranks, [](HelperPost&) {})};
  launch_says(communicator, with, read_once, "helper keeper ended before it answered");
}

void a_trainer_that_never_asks_is_named(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.timeout_seconds = short_timeout_seconds;
  with.helpers = {keeper_of(request.ranks, keep_values)};
  const auto program = [](Device& device, Communicator& c) {
    if (c.rank() == 0) device.await(c.channel(0, 0).ask());
    if (c.rank() == 0) return device.await(c.channel(0, 1).ask());
    HostWork instead;
    instead.name = "instead";
    instead.body = [](Workers&) {
      std::this_thread::sleep_for(std::chrono::duration<double>(3 * short_timeout_seconds));
    };
    device.await(device.run_on_host(std::move(instead)));
  };
  // By the wall's clock one side waits too long; in virtual time the trainer has ended, and with it the helper.
  launch_says(communicator, with, program, "helper keeper");
}

void channels_belong_to_their_trainers(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  LaunchRequest with = request;
  with.helpers = {keeper_of(request.ranks, keep_values)};
  communicator.launch(with, [](Device&, Communicator& c) {
    const std::size_t other = (c.rank() + 1) % c.size();
    try {
      c.channel(0, 2 * other);
    } catch (const Error&) {
      return;
    }
    expect(c.size() == 1, c, "another rank's channel was given");
  });
}

constexpr FailureCase cases_of_helpers[] = {
    {"a helper serves all trainers in turn", 1, a_helper_serves_all_trainers_in_turn},
    {"trainers may ask ahead", 1, trainers_may_ask_ahead},
    {"a helper that fails is named", 1, a_helper_that_fails_is_named},
    {"a helper that does not answer is named", 1, a_helper_that_does_not_answer_is_named},
    {"a helper that ends early is named", 1, a_helper_that_ends_early_is_named},
    {"a trainer that never asks is named", 2, a_trainer_that_never_asks_is_named},
    {"channels belong to their trainers", 1, channels_belong_to_their_trainers},
    {"a helper serves all trainers once more", 1, a_helper_serves_all_trainers_in_turn},
};

}  // namespace

std::span<const FailureCase> helper_cases() { return cases_of_helpers; }

}  // namespace strobe::conformance
