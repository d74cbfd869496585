// Failure cases of groups: a failure of a rank in one communicator ends all ranks of the launch. The errors name ranks
// by their launch numbers.
#include <chrono>

#include "tests/conformance/collectives/failures.hpp"
#include "tests/conformance/collectives/groups.hpp"

namespace strobe::conformance {
namespace {

/// Only members of a group wait, so only the group can tell who is missing: the launch's last rank, which has another
/// number in the group.
void member_of_a_group_stays_away(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device&, Communicator& c) {
    RankGroups groups(1);
    for (int r = 1; r < c.size(); ++r) groups[0].push_back(r);
    const std::unique_ptr<Communicator> group = c.split(groups);
    if (group != nullptr && c.rank() != c.size() - 1) group->barrier();
  };
  launch_times_out(communicator, request, program, "barrier", {request.ranks - 1});
}

void message_in_a_group_is_never_sent(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    RankGroups groups(1);
    for (int r = 1; r < c.size(); ++r) groups[0].push_back(r);
    const std::unique_ptr<Communicator> group = c.split(groups);
    if (c.rank() != 1) return;
    group->receive(device.allocate(3, 1, ElementType::f32), group->size() - 1, 7, Traffic::halo);
  };
  launch_times_out(communicator, request, program, "receive", {request.ranks - 1});
}

void rank_fails_while_groups_wait(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split(even_and_odd(c.size()));
    const Tensor tensor = device.allocate(100, 100, ElementType::f32);
    for (float& value : tensor.values<float>()) value = 1;
    if (c.rank() == c.size() - 1) throw InvalidInput("graph.csv", 3, 1, "deliberate");
    group->all_reduce(tensor, Traffic::gradient);
    c.barrier();
  };
  const auto begin = std::chrono::steady_clock::now();
  launch_fails_with<InvalidInput>(communicator, with_timeout(request, long_timeout_seconds), program,
                                  [](const InvalidInput& cause) {
                                    require(std::string(cause.what()) == "graph.csv:3:1: deliberate",
                                            fmt::format("the cause has changed: {}", cause.what()));
                                  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  require(took.count() < long_timeout_seconds / 2, "groups of a failed rank's peers did not hear of it");
}

void ranks_disagree_about_groups(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device&, Communicator& c) {
    c.split(c.rank() == 0 ? halves(c.size()) : even_and_odd(c.size()));
  };
  launch_fails_with<Error>(communicator, with_timeout(request, long_timeout_seconds), program, [](const Error& cause) {
    require(contains(cause, "ranks disagree") && contains(cause, "other groups"),
            fmt::format("a disagreement about groups does not say so: {}", cause.what()));
  });
}

void one_rank_does_not_split(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device&, Communicator& c) {
    if (c.rank() == 0) return c.barrier();
    c.split(halves(c.size()));
  };
  launch_fails_with<Error>(communicator, with_timeout(request, long_timeout_seconds), program, [](const Error& cause) {
    require(contains(cause, "barrier") && contains(cause, "split"),
            fmt::format("a disagreement does not name both calls: {}", cause.what()));
  });
}

/// The texts name ranks of the launch: rank 0 is in no group.
void members_disagree(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  const auto program = [](Device& device, Communicator& c) {
    RankGroups groups(1);
    for (int r = 1; r < c.size(); ++r) groups[0].push_back(r);
    const std::unique_ptr<Communicator> group = c.split(groups);
    if (group == nullptr) return;
    const Tensor tensor = device.allocate(8, 1, ElementType::f64);
    for (double& value : tensor.values<double>()) value = 1;
    if (group->rank() == 0) return group->barrier();
    group->all_reduce(tensor, Traffic::gradient);
  };
  launch_fails_with<Error>(communicator, with_timeout(request, long_timeout_seconds), program, [](const Error& cause) {
    require(contains(cause, "barrier") && contains(cause, "all_reduce") && !contains(cause, "rank 0"),
            fmt::format("a disagreement does not name ranks of the launch: {}", cause.what()));
  });
}

void next_launch_has_groups(const CommunicatorTag::Value& communicator, const LaunchRequest& request) {
  communicator.launch(with_timeout(request, long_timeout_seconds), [](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split(even_and_odd(c.size()));
    const Tensor ones = device.allocate(3, 1, ElementType::i64);
    for (std::int64_t& value : ones.values<std::int64_t>()) value = 1;
    group->all_reduce(ones, Traffic::gradient);
    expect(ones.data<std::int64_t>()[2] == group->size(), c, "a group's sum after earlier failures is wrong");
  });
}

constexpr FailureCase failures_of_groups[] = {
    {"groups: next launch works", 1, next_launch_has_groups},
    {"groups: member stays away", 3, member_of_a_group_stays_away},
    {"groups: message is never sent", 3, message_in_a_group_is_never_sent},
    {"groups: rank fails", 2, rank_fails_while_groups_wait},
    {"groups: the launch after a failure works", 1, next_launch_has_groups},
    {"groups: ranks disagree about them", 3, ranks_disagree_about_groups},
    {"groups: one rank does not split", 2, one_rank_does_not_split},
    {"groups: members disagree", 3, members_disagree},
    {"groups: the launch after all failures works", 1, next_launch_has_groups},
};

}  // namespace

std::span<const FailureCase> group_failure_cases() { return failures_of_groups; }

}  // namespace strobe::conformance
