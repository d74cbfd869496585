#include "harness/files/score_file.hpp"

#include <algorithm>
#include <limits>

#include "harness/files/npz_file.hpp"

namespace strobe {
namespace {

/// Calls `visit(scores, count)` for each event of a part.
template <class Visit>
void for_events(const std::vector<double>& flat, const Visit& visit) {
  for (std::size_t at = 0; at < flat.size(); at += 1 + static_cast<std::size_t>(flat[at]))
    visit(flat.data() + at + 1, static_cast<std::size_t>(flat[at]));
}

void pass_doubles(const NpzFile::Sink& sink, const double* values, std::size_t count) {
  sink({reinterpret_cast<const char*>(values), count * sizeof(double)});
}

}  // namespace

void write_score_file(const std::string& path, const std::vector<SavedMatrix>& parts) {
  NpzFile file(path);
  for (const SavedMatrix& part : parts) {
    std::int64_t events = 0;
    std::size_t most = 0;
    for_events(part.values, [&](const double*, std::size_t count) { ++events, most = std::max(most, count - 1); });
    file.add(part.name + "y_pred_pos", {events}, [&](const NpzFile::Sink& sink) {
      for_events(part.values, [&](const double* scores, std::size_t) { pass_doubles(sink, scores, 1); });
    });
    const std::vector<double> none(most, -std::numeric_limits<double>::infinity());
    file.add(part.name + "y_pred_neg", {events, static_cast<std::int64_t>(most)}, [&](const NpzFile::Sink& sink) {
      for_events(part.values, [&](const double* scores, std::size_t count) {
        pass_doubles(sink, scores + 1, count - 1);
        pass_doubles(sink, none.data(), most + 1 - count);
      });
    });
  }
  file.commit();
}

}  // namespace strobe
