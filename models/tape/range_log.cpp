#include "models/tape/range_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/kept_text.hpp"

namespace strobe {

void RangeLog::open(std::string_view name) {
  open_.push_back(ranges_.size());
  ranges_.push_back({name, spans_.size(), 0});
}

void RangeLog::close() {
  ranges_[open_.back()].last = spans_.size();
  open_.pop_back();
}

std::vector<Span> RangeLog::as_spans() const {
  std::vector<Span> result;
  const std::vector<Span>& spans = spans_.spans();
  for (const Kept& range : ranges_) {
    double begin = std::numeric_limits<double>::infinity(), end = -begin;
    for (std::size_t i = range.first; i < std::min(range.last, spans.size()); ++i) {
      if (!spans[i].blocking) continue;
      begin = std::min(begin, spans[i].begin_seconds);
      end = std::max(end, spans[i].end_seconds);
    }
    if (begin > end) continue;
    result.push_back({range.name, Phase::other, Stream::host, Traffic::other, false, begin, end, {}, 0, 0, 0});
  }
  return result;
}

std::string_view layer_range_name(std::size_t layer) { return kept_text(fmt::format("layer {}", layer + 1)); }

}  // namespace strobe
