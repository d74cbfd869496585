// How long windows are and where they begin, as `window` and `stride` say it: 30d, 1d:origin=midnight, 3months.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/graph/time_borders.hpp"

namespace strobe {

/// A length of time, or a number of calendar months, and where the first window begins. All of the calendar is UTC.
struct WindowSpan {
  enum class Origin { first, midnight, monday, month, year, moment };
  double seconds = 0;       // of a length of time; 0 where `months` counts
  std::int64_t months = 0;  // of the calendar; years are 12 each
  bool bare = false;        // a number without a unit, which may count steps
  Origin origin = Origin::first;
  double moment = 0;  // of Origin::moment: windows begin there and at regular distances before and after
};

/// Reads "30d", "30d:origin=ORIGIN", "2weeks" or "month". Units d, w, h, min, s and ms are lengths of time and begin at
/// the first event; day, week (Monday), month and year are of the calendar and begin with the unit that holds it.
/// ORIGIN is first, midnight, monday, epoch or a date. Throws InvalidRequest(where, ...) for any other text.
WindowSpan parse_window(const std::string& text, const std::string& where);

/// The same without an origin.
WindowSpan parse_stride(const std::string& text, const std::string& where);

/// Borders of windows of one length, one stride apart; window 0 is the last one that begins at or before `first`.
class WindowBorders {
 public:
  /// Both are lengths of time, or both calendar months; the origin is that of `length`.
  /// Throws InvalidRequest("stride", ...) for a mixture, and for a stride longer than the window.
  WindowBorders(const WindowSpan& length, const WindowSpan& stride, double first);
  Border begin(std::int64_t k) const;
  /// Exactly where window k + 1 begins if the stride equals the length.
  Border end(std::int64_t k) const;
  /// Seconds from a window's beginning to that of the next; an average for months.
  double stride_seconds() const { return stride_seconds_; }
  bool disjoint() const { return disjoint_; }

 private:
  double month_begin(std::int64_t month) const;

  bool disjoint_;
  std::optional<RegularBorders> regular_;                           // of lengths of time
  std::int64_t from_ = 0;                                           // the number of window 0 from the origin on
  std::int64_t month_ = 0, length_months_ = 0, stride_months_ = 0;  // months are counted from January 1970
  double into_month_ = 0, stride_seconds_ = 0;
};

}  // namespace strobe
