// Features of events and vertices in a mapped file, while host memory is limited: the rows of a batch are read ahead of
// their use, and leave this process's memory after it. Features in private memory are left alone.
#pragma once

#include <algorithm>

#include "core/system/process_memory.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/event_data.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {

using AdviseBytes = void (*)(const void* data, std::size_t bytes);

/// Reading this gap between two rows costs less than another request to the disk.
inline constexpr std::int64_t near_feature_bytes = 32 << 10;

inline void advise_feature_rows(const Column<float>& values, std::int64_t width, std::vector<std::int64_t> rows,
                                AdviseBytes advise) {
  if (values.empty() || rows.empty()) return;
  std::sort(rows.begin(), rows.end());
  const auto row_bytes = width * static_cast<std::int64_t>(sizeof(float));
  for (std::size_t i = 0; i < rows.size();) {
    const std::int64_t first = rows[i];
    std::int64_t last = first;
    while (++i < rows.size() && (rows[i] - last) * row_bytes <= near_feature_bytes + row_bytes) last = rows[i];
    advise(values.data() + first * width, static_cast<std::size_t>((last + 1 - first) * row_bytes));
  }
}

inline void advise_features(const EventData& data, const BatchDraw& drawn, AdviseBytes advise) {
  if (!spares_process_memory()) return;
  const EventGraph& whole = *data.whole;
  if (!drawn.vertex_features)
    advise_feature_rows(whole.vertex_features, whole.vertex_feature_width, drawn.vertices, advise);
  if (whole.edge_features.empty() || !drawn.edge_features.empty()) return;
  std::vector<std::int64_t> events;
  const auto add = [&](const std::vector<std::int64_t>& some) {
    for (const std::int64_t event : some) events.push_back(data.number(event));
  };
  add(drawn.mail_events);
  for (const DrawnLevel& level : drawn.levels) add(level.events);
  advise_feature_rows(whole.edge_features, whole.edge_feature_width, std::move(events), advise);
}

/// Both do nothing unless the process spares memory. Rows that came from other nodes with the batch are not read here.
/// Cost: O(rows log rows), and a system call for each run of near rows.
inline void read_features_ahead(const EventData& data, const BatchDraw& drawn) {
  advise_features(data, drawn, read_pages_ahead);
}
inline void let_features_go(const EventData& data, const BatchDraw& drawn) { advise_features(data, drawn, rest_pages); }

}  // namespace strobe
