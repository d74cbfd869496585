#include "core/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "core/names_elsewhere.hpp"

namespace strobe {
namespace {

std::string located(const std::string& file, std::uint64_t line, std::uint64_t column, const std::string& message) {
  if (line == 0) return fmt::format("{}: {}", file, message);
  if (column == 0) return fmt::format("{}:{}: {}", file, line, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

/// "3 mistakes: /a: ...; /b: ...".
std::string several(const std::vector<InvalidRequest>& all) {
  std::string text = fmt::format("{} mistakes", all.size());
  for (const InvalidRequest& one : all) text += fmt::format("{} {}", &one == &all.front() ? ":" : ";", one.what());
  return text;
}

/// Letters to insert, delete or replace; two neighbours in the wrong order count once.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1), above, before;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// "; did you mean one of 'p4d-a100', 'p5-h100'?": the candidates that contain the name; "" without any.
std::string containing_text(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr std::size_t least = 3, most = 6;
  const std::string plain = plain_name(name);
  std::vector<std::string> found;
  for (const std::string& candidate : candidates)
    if (plain.size() >= least && plain_name(candidate).find(plain) != std::string::npos && found.size() < most)
      found.push_back("'" + candidate + "'");
  return found.empty() ? ""
                       : fmt::format("; did you mean {}{}?", found.size() > 1 ? "one of " : "", fmt::join(found, ", "));
}

}  // namespace

InvalidInput::InvalidInput(std::string file, std::uint64_t line, std::uint64_t column, const std::string& message)
    : Error(located(file, line, column, message)), file_(std::move(file)), line_(line), column_(column) {}

InvalidRequest::InvalidRequest(std::string where, const std::string& message)
    : Error(where.empty() ? message : where + ": " + message), where_(std::move(where)), message_(message) {}

InvalidRequest::InvalidRequest(std::vector<InvalidRequest> all)
    : Error(several(all)), where_(all.front().where()), message_(several(all)), all_(std::move(all)) {}

InvalidRequest InvalidRequest::each(const std::function<InvalidRequest(const InvalidRequest&)>& change) const {
  if (all_.empty()) return change(*this);
  std::vector<InvalidRequest> changed;
  for (const InvalidRequest& one : all_) changed.push_back(change(one));
  return InvalidRequest(std::move(changed));
}

void Complaints::hear(const std::function<void()>& check) {
  const auto keep = [this](const InvalidRequest& one) {
    const auto same = [&one](const InvalidRequest& other) { return std::string(one.what()) == other.what(); };
    if (std::none_of(kept_.begin(), kept_.end(), same)) kept_.push_back(one);
  };
  try {
    check();
  } catch (const InvalidRequest& error) {
    if (error.all().empty()) keep(error);
    for (const InvalidRequest& one : error.all()) keep(one);
  }
}

void Complaints::raise() const {
  if (kept_.size() == 1) throw InvalidRequest(kept_.front());
  if (!kept_.empty()) throw InvalidRequest(kept_);
}

OutOfMemory::OutOfMemory(int rank, std::uint64_t requested_bytes, std::uint64_t live_bytes, std::uint64_t limit_bytes)
    : Error(limit_bytes == 0
                ? fmt::format("rank {} is out of memory: {} bytes requested while {} bytes are in use", rank,
                              requested_bytes, live_bytes)
                : fmt::format("rank {} is out of memory: {} bytes requested while {} of {} bytes are in use", rank,
                              requested_bytes, live_bytes, limit_bytes)),
      rank_(rank) {}

OutOfMemory::OutOfMemory(const std::string& answer) : Error("out of memory: " + answer), rank_(-1) {}

CollectiveTimeout::CollectiveTimeout(const std::string& collective, int rank, double seconds, std::vector<int> missing)
    : Error(missing.empty()
                ? fmt::format("rank {} waited {:.1f} s in {}; every rank entered it but it did not complete", rank,
                              seconds, collective)
                : fmt::format("rank {} waited {:.1f} s in {}; missing ranks: {}", rank, seconds, collective,
                              fmt::join(missing, ", "))),
      missing_(std::move(missing)) {}

Interrupted::Interrupted(int signal) : Error(fmt::format("interrupted by signal {}", signal)), signal_(signal) {}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  constexpr std::size_t short_name = 3;  // two wrong letters would leave too little of it
  std::size_t best_distance = name.size() <= short_name ? 2 : std::max<std::size_t>(2, name.size() / 3) + 1;
  const std::string plain = plain_name(name);
  for (const std::string& candidate : candidates)
    if (!plain.empty() && plain_name(candidate) == plain) return candidate;  // spelt in another way
  for (const std::string& candidate : candidates) {
    const bool extends = name.size() >= 3 && candidate.compare(0, name.size(), name) == 0;
    const std::size_t distance = extends ? 1 : edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name_message(const std::string& kind, const std::string& name,
                                 const std::vector<std::string>& candidates, const std::string& meant) {
  std::string message = fmt::format("unknown {} '{}'", kind, name);
  if (const NameElsewhere* elsewhere = name_elsewhere(kind, name)) {
    const bool here = *elsewhere->here != '\0', more = *elsewhere->about != '\0';
    message += here ? fmt::format("; it is '{}' here", elsewhere->here) : "; Strobe does not have it";
    message += more ? fmt::format(" ({}).", elsewhere->about) : ".";
  } else {
    const std::string nearest = meant.empty() ? nearest_name(name, candidates) : meant;
    const std::string hint =
        nearest.empty() ? containing_text(name, candidates) : fmt::format("; did you mean '{}'?", nearest);
    message += hint.empty() ? "." : hint;
  }
  if (!candidates.empty()) message += fmt::format(" Known: {}.", fmt::join(candidates, ", "));
  return message;
}

bool mentions(const std::string& text, const std::string& word) {
  if (word.size() < 3) return false;
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  const auto part_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  for (auto at = text.begin();; ++at) {
    at = std::search(at, text.end(), word.begin(), word.end(), same);
    if (at == text.end()) return false;
    const auto behind = at + static_cast<std::ptrdiff_t>(word.size());
    if ((at == text.begin() || !part_of_word(*(at - 1))) && (behind == text.end() || !part_of_word(*behind)))
      return true;
  }
}

}  // namespace strobe
