// Communicator nccl with NCCL itself: one rank per GPU, as many as there are, at most four. The conformance suite of
// communicators looks at memory from the host and therefore runs on the emulation (tests/nccl).
#include <gtest/gtest.h>

#include <numeric>

#include "backends/communicator.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows = 1003, columns = 6;

Tensor filled(Device& device, std::int64_t count, double first) {
  std::vector<double> values(count * columns);
  std::iota(values.begin(), values.end(), first);
  return device.move_in(values.data(), count, columns, ElementType::f64);
}

std::vector<double> values_of(Device& device, const Tensor& tensor) {
  std::vector<double> values(tensor.elements());
  EXPECT_TRUE(device.move_out(tensor, values.data()));
  return values;
}

void sum_and_gather(Device& device, Communicator& c) {
  // Sums of whole numbers have the same bits in every order.
  const Tensor sum = filled(device, rows, c.rank());
  c.all_reduce(sum, Traffic::gradient);
  const double ranks = c.size();
  const std::vector<double> sums = values_of(device, sum);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(sums[i], ranks * static_cast<double>(i) + ranks * (ranks - 1) / 2) << "element " << i;
  }
  std::vector<PeerRows> parts;
  std::int64_t total = 0;
  for (int rank = 0; rank < c.size(); ++rank) {
    parts.push_back({total, 2 * rank + 1});
    total += 2 * rank + 1;
  }
  const PeerRows own = parts[c.rank()];
  const Tensor all = device.allocate(total, columns, ElementType::f64);
  c.all_gather_v(filled(device, own.count, static_cast<double>(own.first * columns)), all, parts, Traffic::state);
  const std::vector<double> gathered = values_of(device, all);
  for (std::size_t i = 0; i < gathered.size(); ++i) ASSERT_EQ(gathered[i], static_cast<double>(i));
  c.barrier();
}

/// Rank r sends r + q + 1 rows to rank q, filled with 100 r + q.
void exchange(Device& device, Communicator& c) {
  std::vector<PeerRows> out, in;
  std::vector<double> sent;
  std::int64_t sending = 0, receiving = 0;
  for (int q = 0; q < c.size(); ++q) {
    const std::int64_t count = q == c.rank() ? 0 : c.rank() + q + 1;
    out.push_back({sending, count});
    in.push_back({receiving, count});
    sending += count;
    receiving += count;
    sent.insert(sent.end(), static_cast<std::size_t>(count * columns), 100.0 * c.rank() + q);
  }
  const Tensor send = device.move_in(sent.data(), sending, columns, ElementType::f64);
  const Tensor receive = device.allocate(receiving, columns, ElementType::f64);
  c.all_to_all_v(send, out, receive, in, Traffic::redistribute);
  const std::vector<double> received = values_of(device, receive);
  for (int q = 0; q < c.size(); ++q) {
    const PeerRows& part = in[q];
    for (std::int64_t i = part.first * columns; i < (part.first + part.count) * columns; ++i) {
      ASSERT_EQ(received[i], 100.0 * q + c.rank());
    }
  }
}

/// Groups of even and odd ranks, each with its sums and maxima, then the launch's again.
void split_in_two(Device& device, Communicator& c) {
  RankGroups groups(c.size() > 1 ? 2 : 1);
  for (int rank = 0; rank < c.size(); ++rank) groups[static_cast<std::size_t>(rank) % groups.size()].push_back(rank);
  const std::vector<int>& own = groups[static_cast<std::size_t>(c.rank()) % groups.size()];
  const std::unique_ptr<Communicator> group = c.split(groups);
  double ranks = 0;
  for (const int rank : own) ranks += rank;
  const Tensor sum = filled(device, rows, c.rank()), largest = filled(device, rows, c.rank());
  group->all_reduce(sum, Traffic::gradient);
  group->all_reduce(largest, Traffic::gradient, Reduction::max);
  c.barrier();
  const std::vector<double> sums = values_of(device, sum), maxima = values_of(device, largest);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(sums[i], static_cast<double>(own.size() * i) + ranks) << "element " << i;
    ASSERT_EQ(maxima[i], static_cast<double>(i) + own.back()) << "element " << i;
  }
}

TEST(NcclOnGpus, MovesAndAddsWhatItShould) {
  if (!CommunicatorRegistry::instance().contains("nccl")) GTEST_SKIP() << "built without NCCL";
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const CommunicatorTag::Value& nccl = CommunicatorRegistry::instance().find("nccl").value;
  LaunchRequest request;
  request.make_device = DeviceRegistry::instance().find("cuda").value;
  for (request.ranks = 1; request.ranks <= 4; ++request.ranks) {
    try {
      nccl.launch(request, [](Device& device, Communicator& c) {
        sum_and_gather(device, c);
        exchange(device, c);
        split_in_two(device, c);
      });
    } catch (const Unavailable& fewer_gpus) {
      ASSERT_GT(request.ranks, 1) << fewer_gpus.what();
      break;
    }
  }
}

TEST(NcclOnGpus, MoreRanksThanGpusSaysWhatToDo) {
  if (!CommunicatorRegistry::instance().contains("nccl")) GTEST_SKIP() << "built without NCCL";
  LaunchRequest request;
  request.ranks = 1000;
  request.make_device = DeviceRegistry::instance().find("cuda").value;
  try {
    CommunicatorRegistry::instance().find("nccl").value.launch(request, [](Device&, Communicator&) {});
    FAIL() << "a thousand ranks were started";
  } catch (const Unavailable& refused) {
    EXPECT_NE(std::string(refused.what()).find("--comm local"), std::string::npos) << refused.what();
  }
}

}  // namespace
}  // namespace strobe
