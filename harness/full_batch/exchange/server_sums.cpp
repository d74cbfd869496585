#include "harness/full_batch/exchange/server_sums.hpp"

#include <vector>

#include "harness/full_batch/exchange/server_route.hpp"

namespace strobe {
namespace {

/// The share of each rank of `rows` rows; ranks without a server have none.
std::vector<PeerRows> shares_of_ranks(std::int64_t rows, int servers, int ranks) {
  std::vector<PeerRows> shares(ranks);
  for (int k = 0; k < servers; ++k) shares[rank_of_server(k, servers, ranks)] = even_share(rows, servers, k);
  return shares;
}

void copy_all(Device& device, const Tensor& from, const Tensor& to) {
  device.run(CopyRows{from, to, {}, {}, from.rows(), 0, 0, from.columns(), false});
}

}  // namespace

void sum_on_servers(Device& device, Communicator& communicator, const Tensor& vector, int servers, Traffic traffic) {
  const int ranks = communicator.size();
  if (ranks == 1) return;
  const PartScope part(device, MemoryPart::buffers);
  const std::size_t here = communicator.rank();
  std::vector<PeerRows> shares = shares_of_ranks(vector.rows(), servers, ranks);
  const PeerRows own = std::exchange(shares[here], {});
  std::vector<PeerRows> arriving(ranks), leaving(ranks);
  for (std::size_t q = 0; own.count > 0 && q < arriving.size(); ++q) {
    if (q == here) continue;
    arriving[q] = {static_cast<std::int64_t>(q) * own.count, own.count};
    leaving[q] = {0, own.count};
  }
  const Tensor addends = device.allocate(own.count * ranks, 1, vector.type());
  const auto addend = [&](std::size_t q) {
    return addends.slice_rows(static_cast<std::int64_t>(q) * own.count, own.count);
  };
  communicator.all_to_all_v(vector, shares, addends, arriving, traffic);
  if (own.count > 0) {
    const Tensor mine = vector.slice_rows(own.first, own.count);
    copy_all(device, mine, addend(here));
    for (std::size_t q = 1; q < arriving.size(); ++q) device.run(AddScaled{addend(q), addend(0), 1.0});
    copy_all(device, addend(0), mine);
  }
  communicator.all_to_all_v(addend(0), leaving, vector, shares, traffic);
}

}  // namespace strobe
