#include "results/answer/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.hpp"

namespace strobe {
namespace {

double sent(const Row& row) { return row.sent_bytes ? static_cast<double>((*row.sent_bytes)[traffic_count]) : 0; }

/// "; it sends 241 kB an epoch against 4.82 MB"; "" where that is nearly the same.
std::string bytes_text(const Row& fast, const Row& slow) {
  constexpr double much = 1.1;
  const double a = sent(fast), b = sent(slow);
  if (std::max(a, b) <= much * std::min(a, b)) return "";
  return fmt::format("; it sends {} an epoch against {}", format_bytes(a), format_bytes(b));
}

/// The phases that make most of the difference of two epochs, the largest first.
std::string phases_text(const Row& fast, const Row& slow) {
  if (!fast.phase_seconds || !slow.phase_seconds) return "";
  const double total = slow.epoch_seconds->mean - fast.epoch_seconds->mean;
  std::vector<std::pair<double, std::size_t>> differences;
  for (std::size_t i = 0; i < phase_count; ++i)
    differences.emplace_back((*slow.phase_seconds)[i] - (*fast.phase_seconds)[i], i);
  std::stable_sort(differences.begin(), differences.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  constexpr double least_share = 0.2;
  std::string text;
  for (const auto& [seconds, phase] : differences) {
    if (std::abs(seconds) < least_share * std::abs(total) || seconds == 0) break;
    text += fmt::format("{} {} {} ({} against {})", text.empty() ? "" : ",", format_seconds(std::abs(seconds)),
                        (seconds > 0 ? "less " : "more ") + std::string(phase_names[phase]),
                        format_seconds((*fast.phase_seconds)[phase]), format_seconds((*slow.phase_seconds)[phase]));
  }
  return text;
}

}  // namespace

std::string reasons_of(const Answer& answer) {
  const Contender *fast = nullptr, *slow = nullptr;
  for (const Contender& one : answer.contenders) {
    if (!std::isfinite(one.unit_seconds)) continue;
    if (fast == nullptr) fast = &one;
    slow = &one;
  }
  if (answer.unit != WorkUnit::epoch || fast == slow || slow->slower.verdict != Verdict::slower) return "";
  const std::string phases = phases_text(*fast->row, *slow->row);
  if (phases.empty()) return "";
  return fmt::format("Compared with {}, an epoch of {} has{}{}.", slow->value, fast->value, phases,
                     bytes_text(*fast->row, *slow->row));
}

}  // namespace strobe
