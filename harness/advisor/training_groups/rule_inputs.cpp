#include "harness/advisor/training_groups/rule_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/event_batches/memory/mail_loss.hpp"

namespace strobe {
namespace {

double missing_share(double captured, double mails) { return mails > 0 ? 1 - captured / mails : 0; }

}  // namespace

CapturedEvents::CapturedEvents(std::shared_ptr<const EventGraph> graph, EdgeId events)
    : graph_(std::move(graph)), events_(events), mails_(captured_mails(*graph_, events, 1)) {
  std::vector<VertexId> order;
  for (std::size_t v = 0; v < mails_.size(); ++v) {
    if (mails_[v] > 0) order.push_back(static_cast<VertexId>(v));
  }
  std::stable_sort(order.begin(), order.end(), [this](VertexId a, VertexId b) { return mails_[a] > mails_[b]; });
  const auto hubs = static_cast<std::size_t>(std::ceil(hub_share * static_cast<double>(order.size())));
  hubs_.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(hubs));
}

BatchLoss CapturedEvents::loss(std::int64_t batch) const {
  const std::vector<std::int64_t> captured = captured_mails(*graph_, events_, batch);
  const auto sum = [](const std::vector<std::int64_t>& of) {
    return static_cast<double>(std::accumulate(of.begin(), of.end(), std::int64_t{0}));
  };
  double hub_captured = 0, hub_mails = 0;
  for (const VertexId v : hubs_) {
    hub_captured += static_cast<double>(captured[v]);
    hub_mails += static_cast<double>(mails_[v]);
  }
  return {batch, missing_share(sum(captured), sum(mails_)), missing_share(hub_captured, hub_mails)};
}

LargestBatch largest_batch(const CapturedEvents& captured, const LossLimits& limits, std::int64_t start, bool smaller) {
  LargestBatch found{start, true, {captured.loss(start)}};
  if (limits.allow(found.tried.front())) {
    for (std::int64_t batch = 2 * start; batch <= captured.events(); batch *= 2) {
      found.tried.push_back(captured.loss(batch));
      if (!limits.allow(found.tried.back())) break;
      found.batch = batch;
    }
    return found;
  }
  found.allowed = false;
  while (smaller && !found.allowed && found.batch % 2 == 0) {
    found.batch /= 2;
    found.tried.insert(found.tried.begin(), captured.loss(found.batch));
    found.allowed = limits.allow(found.tried.front());
  }
  return found;
}

Saturation find_saturation(const std::vector<std::int64_t>& batches,
                           const std::function<BatchRate(std::int64_t)>& rate_of) {
  Saturation found;
  for (const std::int64_t batch : batches) {
    found.tried.push_back(rate_of(batch));
    const BatchRate& now = found.tried.back();
    if (now.events_per_second <= 0) {
      found.why = fmt::format("a batch of {} cannot be simulated: {}", batch, now.reason);
      return found;
    }
    if (found.tried.size() > 1) {
      const BatchRate& before = found.tried[found.tried.size() - 2];
      const double gain = now.events_per_second / before.events_per_second,
                   doublings = std::log2(static_cast<double>(batch) / static_cast<double>(before.batch));
      if (gain < std::pow(least_gain, doublings)) {
        found.why =
            fmt::format("one GPU trains {:.0f} events a second with a batch of {}, and {:.2f} x as many with {}",
                        before.events_per_second, before.batch, gain, batch);
        return found;
      }
    }
    found.batch = batch;
  }
  found.why = fmt::format("one GPU trains {:.0f} events a second with a batch of {}, the largest one tried",
                          found.tried.back().events_per_second, found.batch);
  return found;
}

std::int64_t copies_within(std::uint64_t host_bytes, std::uint64_t data_bytes, const MemoryShape& shape, std::int64_t i,
                           std::int64_t gpus) {
  const std::int64_t room = gpus / i;
  for (std::int64_t copies = room; copies >= 1; --copies) {
    if (room % copies != 0) continue;
    const std::uint64_t bytes = bytes_of_copy({i, room / copies, copies}, shape);
    if (data_bytes + static_cast<std::uint64_t>(copies) * bytes <= host_bytes) return copies;
  }
  return 0;
}

}  // namespace strobe
