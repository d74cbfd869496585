#include "results/row/shared_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strobe {
namespace {

std::vector<std::string> notes_of_row(const Row& row) {
  std::vector<std::string> notes;
  if (row.status != "ok") notes.push_back(row.reason.empty() ? row.status : row.status + ": " + row.reason);
  if (row.time_source == "virtual" && row.epoch_seconds) notes.emplace_back("predicted");
  if (row.until && !row.until->reached) {
    const auto goal = row.settings.find("until");
    notes.push_back(fmt::format("{} was not reached; `until` is the time of all updates",
                                goal == row.settings.end() ? "the goal" : goal->get<std::string>()));
  }
  notes.insert(notes.end(), row.notes.begin(), row.notes.end());
  return notes;
}

bool holds_note(const std::vector<std::string>& notes, const std::string& note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

/// Rows without a measurement do not count when the notes that all rows share are found.
std::vector<std::string> notes_of_all(const std::vector<std::vector<const Row*>>& groups) {
  std::vector<std::string> shared;
  bool first = true;
  for (const auto& group : groups) {
    for (const Row* row : group) {
      if (!row->epoch_seconds) continue;
      const std::vector<std::string> own = notes_of_row(*row);
      if (first)
        shared = own;
      else
        std::erase_if(shared, [&](const std::string& note) { return !holds_note(own, note); });
      first = false;
    }
  }
  return shared;
}

}  // namespace

SharedNotes share_notes(const std::vector<std::vector<const Row*>>& groups) {
  SharedNotes notes;
  notes.of_all = notes_of_all(groups);
  for (const auto& group : groups) {
    std::vector<std::size_t>& numbers = notes.of_group.emplace_back();
    for (const Row* row : group) {
      for (const std::string& note : notes_of_row(*row)) {
        if (holds_note(notes.of_all, note)) continue;
        const auto known = std::find(notes.numbered.begin(), notes.numbered.end(), note);
        const auto number = static_cast<std::size_t>(known - notes.numbered.begin()) + 1;
        if (known == notes.numbered.end()) notes.numbered.push_back(note);
        if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
      }
    }
    std::sort(numbers.begin(), numbers.end());
  }
  return notes;
}

}  // namespace strobe
