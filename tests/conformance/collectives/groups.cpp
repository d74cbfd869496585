// Value and span cases of groups. The cases derive each rank's place in a split again from the lists of groups. Numbers
// that only launch ranks decide distinguish ranks of the launch from ranks of the group.
#include "tests/conformance/collectives/groups.hpp"

#include <algorithm>

#include "tests/conformance/collectives/values.hpp"

namespace strobe::conformance {

RankGroups halves(int ranks) {
  RankGroups groups(2);
  for (int r = 0; r < ranks; ++r) groups[r < (ranks + 1) / 2 ? 0 : 1].push_back(r);
  if (groups[1].empty()) groups.pop_back();
  return groups;
}

RankGroups even_and_odd(int ranks) {
  RankGroups groups(2);
  for (int r = 0; r < ranks; ++r) groups[r % 2].push_back(r);
  if (groups[1].empty()) groups.pop_back();
  return groups;
}

namespace {

RankGroups all_but_the_first(int ranks) {
  RankGroups groups;
  for (int r = 1; r < ranks; ++r) {
    if (groups.empty()) groups.emplace_back();
    groups[0].push_back(r);
  }
  return groups;
}

RankGroups alone(int ranks) {
  RankGroups groups;
  for (int r = ranks - 1; r >= 0; --r) groups.push_back({r});
  return groups;
}

const std::vector<int>* group_of(const RankGroups& groups, int rank) {
  for (const std::vector<int>& group : groups) {
    if (std::find(group.begin(), group.end(), rank) != group.end()) return &group;
  }
  return nullptr;
}

/// `group` as ranks of the launch, the communicator's being `c`'s.
std::vector<int> in_launch(const Communicator& c, const std::vector<int>& group) {
  std::vector<int> ranks;
  for (const int rank : group) ranks.push_back(c.world_rank(rank));
  return ranks;
}

double sum_over(const std::vector<int>& ranks, std::int64_t index) {
  double sum = sample<double>(ranks[0], index);
  for (std::size_t m = 1; m < ranks.size(); ++m) sum += sample<double>(ranks[m], index);
  return sum;
}

double largest_over(const std::vector<int>& ranks, std::int64_t index) {
  double largest = sample<double>(ranks[0], index);
  for (const int rank : ranks) largest = std::max(largest, sample<double>(rank, index));
  return largest;
}

void check_sums(Device& device, Communicator& c, const std::vector<int>& ranks) {
  for (const std::int64_t rows : {0, 1, 301}) {
    for (const Reduction reduction : {Reduction::sum, Reduction::max}) {
      const Tensor tensor = filled<double>(device, rows, 3, device.rank());
      c.all_reduce(tensor, Traffic::gradient, reduction);
      expect_values(c, tensor.data<double>(), tensor.elements(), "all_reduce in a group", [&](std::int64_t i) {
        return reduction == Reduction::sum ? sum_over(ranks, i) : largest_over(ranks, i);
      });
    }
  }
  const std::int64_t parts = ranks.size();
  std::vector<PeerRows> rows;
  for (std::int64_t q = 0; q < parts; ++q) rows.push_back({q * (q + 1) / 2, q + 1});
  const PeerRows own = rows[c.rank()];
  const Tensor send = filled<double>(device, parts * (parts + 1) / 2, 2, device.rank());
  const Tensor receive = device.allocate(own.count, 2, ElementType::f64);
  c.reduce_scatter(send, rows, receive, Traffic::gradient);
  expect_values(c, receive.data<double>(), receive.elements(), "reduce_scatter in a group",
                [&](std::int64_t i) { return sum_over(ranks, own.first * 2 + i); });
}

/// Every member sends two rows to every other, which gathers them by the member's place.
void check_copies(Device& device, Communicator& c, const std::vector<int>& ranks) {
  const int size = c.size();
  std::vector<PeerRows> others, all;
  for (int q = 0; q < size; ++q) {
    others.push_back({2 * q, q == c.rank() ? 0 : 2});
    all.push_back({2 * q, 2});
  }
  const Tensor send = filled<double>(device, 2 * size, 1, device.rank());
  const Tensor received = device.allocate(2 * size, 1, ElementType::f64);
  c.all_to_all_v(send, others, received, others, Traffic::redistribute);
  const Tensor gathered = device.allocate(2 * size, 1, ElementType::f64);
  c.all_gather_v(send.slice_rows(0, 2), gathered, all, Traffic::state);
  for (int q = 0; q < size; ++q) {
    const int from = ranks[q];
    expect_values(c, gathered.data<double>() + 2 * q, 2, fmt::format("part of member {}", q),
                  [&](std::int64_t i) { return sample<double>(from, i); });
    expect_values(c, received.data<double>() + 2 * q, q == c.rank() ? 0 : 2, fmt::format("rows of member {}", q),
                  [&](std::int64_t i) { return sample<double>(from, 2 * c.rank() + i); });
  }
  const Tensor reported = filled<double>(device, 5, 1, device.rank());
  c.broadcast(reported, size - 1, Traffic::state);
  expect_values(c, reported.data<double>(), 5, "broadcast in a group",
                [&](std::int64_t i) { return sample<double>(ranks.back(), i); });
  c.barrier();
}

void check_ring(Device& device, Communicator& c, const std::vector<int>& ranks) {
  if (c.size() == 1) return;
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  Request out = c.start_send(filled<double>(device, 7, 1, device.rank()), next, 3, Traffic::halo);
  const Tensor in = device.allocate(7, 1, ElementType::f64);
  Request arrives = c.start_receive(in, previous, 3, Traffic::halo);
  c.wait(out);
  c.wait(arrives);
  expect_values(c, in.data<double>(), 7, "message in a group",
                [&](std::int64_t i) { return sample<double>(ranks[previous], i); });
}

/// Splits; members check their places and all kinds of collectives.
void check_split(Device& device, Communicator& parent, const RankGroups& groups) {
  const std::unique_ptr<Communicator> c = parent.split(groups);
  const std::vector<int>* const group = group_of(groups, parent.rank());
  expect((c == nullptr) == (group == nullptr), parent, "a group's communicator is missing, or one too many");
  if (c == nullptr) return;
  const std::vector<int> ranks = in_launch(parent, *group);
  expect(c->size() == static_cast<int>(ranks.size()), parent, "a group has another size");
  expect(ranks[c->rank()] == device.rank(), parent, "a member has another place");
  for (int q = 0; q < c->size(); ++q) {
    expect(c->world_rank(q) == ranks[q], parent, "a member has another rank in the launch");
  }
  check_sums(device, *c, ranks);
  check_copies(device, *c, ranks);
  check_ring(device, *c, ranks);
}

void split_in_halves(Device& device, Communicator& c) { check_split(device, c, halves(c.size())); }
void split_in_even_and_odd(Device& device, Communicator& c) { check_split(device, c, even_and_odd(c.size())); }
void split_without_the_first(Device& device, Communicator& c) { check_split(device, c, all_but_the_first(c.size())); }
void split_in_ones(Device& device, Communicator& c) { check_split(device, c, alone(c.size())); }
void split_in_none(Device& device, Communicator& c) { check_split(device, c, {}); }

void split_in_one(Device& device, Communicator& c) {
  RankGroups all(1);
  for (int r = 0; r < c.size(); ++r) all[0].push_back(r);
  check_split(device, c, all);
  check_split(device, c, all);  // again: another communicator of the same ranks
}

void split_of_a_split(Device& device, Communicator& c) {
  const std::unique_ptr<Communicator> group = c.split(even_and_odd(c.size()));
  check_split(device, *group, halves(group->size()));
  check_split(device, *group, all_but_the_first(group->size()));
  check_split(device, c, halves(c.size()));
}

/// Two communicators of the same ranks, a third of some, and the launch's, all under way at once.
void groups_beside_their_parent(Device& device, Communicator& c) {
  const RankGroups groups = even_and_odd(c.size());
  const Tensor early = filled<double>(device, 211, 2, c.rank());
  Request before = c.start_all_reduce(early, Traffic::gradient);  // is under way while ranks split
  const std::unique_ptr<Communicator> first = c.split(groups), second = c.split(groups);
  const std::vector<int>& ranks = *group_of(groups, c.rank());
  std::vector<int> everyone;
  for (int r = 0; r < c.size(); ++r) everyone.push_back(r);
  c.wait(before);
  expect_values(c, early.data<double>(), 422, "sum that was under way",
                [&](std::int64_t i) { return sum_over(everyone, i); });
  for (const bool parent_first : {true, false}) {
    std::vector<Tensor> sums;
    for (int k = 0; k < 3; ++k) sums.push_back(filled<double>(device, 211, 2, c.rank(), 1000 * k));
    Request whole = c.start_all_reduce(sums[0], Traffic::gradient);
    Request one = first->start_all_reduce(sums[1], Traffic::gradient);
    Request two = second->start_all_reduce(sums[2], Traffic::gradient);
    if (parent_first) c.wait(whole);
    second->wait(two);
    first->wait(one);
    if (!parent_first) c.wait(whole);
    for (int k = 0; k < 3; ++k) {
      expect_values(c, sums[k].data<double>(), 422, fmt::format("sum {} of three", k),
                    [&](std::int64_t i) { return sum_over(k == 0 ? everyone : ranks, 1000 * k + i); });
    }
  }
}

/// Rank 0 sends to the member that follows it in its group, by the group and by the launch, with one tag.
void messages_of_one_tag(Device& device, Communicator& c) {
  if (c.size() < 3) return;
  const std::unique_ptr<Communicator> group = c.split(even_and_odd(c.size()));
  if (c.rank() == 0) {
    Request launch = c.start_send(filled<double>(device, 4, 1, 0, 10), 2, 7, Traffic::halo);
    Request inner = group->start_send(filled<double>(device, 4, 1, 0, 20), 1, 7, Traffic::halo);
    c.wait(launch);
    group->wait(inner);
  } else if (c.rank() == 2) {
    const Tensor by_launch = device.allocate(4, 1, ElementType::f64),
                 by_group = device.allocate(4, 1, ElementType::f64);
    Request launch = c.start_receive(by_launch, 0, 7, Traffic::halo);
    Request inner = group->start_receive(by_group, 0, 7, Traffic::halo);
    c.wait(launch);
    group->wait(inner);
    expect_values(c, by_launch.data<double>(), 4, "message of the launch",
                  [](std::int64_t i) { return sample<double>(0, 10 + i); });
    expect_values(c, by_group.data<double>(), 4, "message of the group",
                  [](std::int64_t i) { return sample<double>(0, 20 + i); });
  }
}

/// Groups make different numbers of collectives and end at different times, before and after one of the launch.
void groups_at_their_own_pace(Device& device, Communicator& c) {
  std::unique_ptr<Communicator> group = c.split(halves(c.size()));
  const int rounds = c.rank() < (c.size() + 1) / 2 ? 3 : 40;
  const Tensor tensor = device.allocate(1, 1, ElementType::i64);
  for (int round = 0; round < rounds; ++round) {
    tensor.data<std::int64_t>()[0] = round;
    group->all_reduce(tensor, Traffic::other);
    expect(tensor.data<std::int64_t>()[0] == round * group->size(), c, "a round of a group is wrong");
  }
  if (group->rank() == 0) group.reset();
  tensor.data<std::int64_t>()[0] = 1;
  c.all_reduce(tensor, Traffic::other);
  expect(tensor.data<std::int64_t>()[0] == c.size(), c, "a sum after groups ended is wrong");
}

void bad_groups(Device& device, Communicator& c) {
  const std::size_t before = device.spans().size();
  const RankGroups wrong[] = {{{}}, {{c.size()}}, {{-1}}, {{0}, {0}}, {{0, 0}}, {{1, 0}}};
  for (const RankGroups& groups : wrong) {
    bool refused = false;
    try {
      c.split(groups);
    } catch (const Error&) {
      refused = true;
    }
    expect(refused, c, "bad groups are not refused");
  }
  expect(device.spans().size() == before, c, "refused groups left a span");
  c.barrier();
}

constexpr CollectiveCase cases_of_groups[] = {
    {"groups: halves", split_in_halves},
    {"groups: even and odd", split_in_even_and_odd},
    {"groups: all but the first", split_without_the_first},
    {"groups: of one rank", split_in_ones},
    {"groups: none", split_in_none},
    {"groups: one of all", split_in_one},
    {"groups: split of a split", split_of_a_split},
    {"groups: at the same time as their parent", groups_beside_their_parent},
    {"groups: messages of one tag", messages_of_one_tag},
    {"groups: at their own pace", groups_at_their_own_pace},
    {"groups: bad ones", bad_groups},
};

}  // namespace

std::span<const CollectiveCase> group_cases() { return cases_of_groups; }

}  // namespace strobe::conformance
