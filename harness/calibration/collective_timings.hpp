// Samples of collectives: from the epochs of cases, and each kind over a range of sizes among ranks that start
// together.
#pragma once

#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/calibration/operation_timings.hpp"

namespace strobe {

/// Name of samples that are half of a round trip between two ranks: the time of a message on their link.
inline constexpr const char* message_name = "message";

struct CollectiveTiming {
  std::string collective;  // as in collective_names, "send" for the receiver's part of a message; or message_name
  int ranks = 2;
  double bytes = 0;     // sent or received by the busiest rank
  double messages = 0;  // peers of that rank
  double seconds = 0;   // wait of a rank after all ranks have arrived
  /// The same from the moment when the data could move, whether the rank waited by then or not. It differs where a
  /// device moves data during compute.
  double flight_seconds = 0;
  std::string workload;  // of the case whose epochs were measured, as text; "" = measured alone, with warm buffers
};

/// Samples from the spans of all ranks of one case, [rank][span]. Collectives among all ranks with equal bytes and
/// messages are one sample. Its time is the median, over ranks and measured epochs, of the mean in the epoch. Its bytes
/// are the most that one rank sends; with more than two ranks, another rank may receive more. Messages between two
/// ranks, barriers, and kinds that ranks issued unequally often are left out.
std::vector<CollectiveTiming> epoch_collectives(const std::vector<std::vector<Span>>& spans, const KeptEpochs& epochs,
                                                const std::string& workload);

/// Selects the samples for a fit, from samples of one collective and number of ranks. It keeps all samples from epochs,
/// and others only outside the epochs' range of bytes. Outside an epoch a collective is quicker, because its buffers
/// are in the caches of the ranks that use them.
std::vector<CollectiveTiming> samples_to_fit(const std::vector<CollectiveTiming>& samples);

/// Measures every collective of `communicator` (a name of CommunicatorRegistry), and messages between ranks 0 and 1.
/// Buffers have 8 bytes up to `largest_bytes`. Each is measured several times after a barrier, on the ranks of
/// `request`. Empty on one rank, and in all processes of a launched world except the first.
std::vector<CollectiveTiming> collective_timings(const std::string& communicator, const LaunchRequest& request,
                                                 std::uint64_t largest_bytes);

}  // namespace strobe
