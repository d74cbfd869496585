// Invariants: every process makes the same gatherings in the same order, whatever happens between them. A process
// prints its messages before the last gathering, because the launcher may end all processes after it.
// Cost: one gathering of 33 bytes a process when there is no error.
#include "harness/process/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "backends/lost_ranks.hpp"
#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "harness/process/failure.hpp"
#include "harness/process/narrate.hpp"
#include "results/run/run_directory.hpp"
#include "workloads/partitioners/other_rank_failed.hpp"
#include "workloads/partitioners/share_holders.hpp"

namespace strobe {

/// The report of a process: its status (0 = well), then the value that must agree, or the reason for its failure.
struct Ranks::Word {
  int status = 0;
  std::string text;
};

namespace {

std::string unescaped(std::string pointer) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"~1", "/"}, {"~0", "~"}}) {
    for (std::size_t at = 0; (at = pointer.find(from, at)) != std::string::npos; at += to.size())
      pointer.replace(at, from.size(), to);
  }
  return pointer;
}

/// Describes where the account of a rank differs from the first one's: "/cases/1/seed is 1 there and 2 here".
std::string difference_of(const Json& first, const Json& own) {
  const JsonDifference difference = first_difference(first, own);
  if (!difference.differs) return "";
  const std::string files = "/files/";
  if (difference.pointer.rfind(files, 0) == 0) {
    return fmt::format("the SHA-256 of {} is {} there and {} here", unescaped(difference.pointer.substr(files.size())),
                       difference.a, difference.b);
  }
  return fmt::format("{} is {} there and {} here", unescaped(difference.pointer), difference.a, difference.b);
}

[[noreturn]] void throw_of_status(int status, const std::string& text) {
  if (status == 2) throw InvalidRequest("", text);
  if (status == 5) throw Unavailable(text);
  throw Error(text);
}

std::exception_ptr error_of_status(int status, const std::string& text) {
  try {
    throw_of_status(status, text);
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

Ranks::Ranks(const CommunicatorTag::Value& comm, const World& launched, double seconds)
    : world_{comm.process_rank(), std::max(1, comm.world_size()), launched.launcher},
      hosts_{host_name()},
      gather_(comm.gather),
      seconds_(seconds) {
  if (several() && gather_ != nullptr) hosts_ = gather_(host_name(), seconds_);
}

std::string Ranks::name(std::size_t rank) const { return fmt::format("rank {} on {}", rank, hosts_[rank]); }

std::vector<Ranks::Word> Ranks::exchange(const PrepareDigest& prepare, std::exception_ptr& failure) const {
  Word own;
  std::exception_ptr elsewhere;
  try {
    own.text = prepare();
  } catch (const Interrupted&) {
    throw;
  } catch (const RanksLost&) {
    throw;
  } catch (const OtherRankFailed&) {
    elsewhere = std::current_exception();  // that rank reports it
  } catch (const std::exception& error) {
    failure = std::current_exception();
    own = {status_of(error), failure_text(error)};
  }
  // Ranks that still partition meet this rank here. They hear that it failed, and join the next meeting.
  const auto partitions = [](const std::string& text) { return text.starts_with(partition_mark); };
  std::vector<std::string> texts;
  do {
    texts = gather_(static_cast<char>(own.status) + own.text, seconds_);
  } while (std::any_of(texts.begin(), texts.end(), partitions));
  std::vector<Word> words;
  for (const std::string& text : texts)
    words.push_back({text.empty() ? 1 : static_cast<unsigned char>(text.front()), text.empty() ? "" : text.substr(1)});
  const auto well = [](const Word& word) { return word.status == 0; };
  if (elsewhere && std::all_of(words.begin(), words.end(), well)) std::rethrow_exception(elsewhere);
  return words;
}

Ranks::Outcome Ranks::failed(const std::vector<Word>& words, const std::exception_ptr& failure) const {
  const auto ill = [](const Word& word) { return word.status != 0; };
  const auto first = std::find_if(words.begin(), words.end(), ill);
  const auto rank = static_cast<std::size_t>(first - words.begin()), own = static_cast<std::size_t>(world_.rank);
  const auto alike = [&](const Word& word) { return word.status == first->status && word.text == first->text; };
  if (std::all_of(words.begin(), words.end(), alike)) return {failure, world_.rank == 0 ? first->text : ""};
  const auto reported = [&](std::size_t r) { return name(r) + ": " + words[r].text; };
  const std::exception_ptr error = failure ? failure : error_of_status(first->status, reported(rank));
  if (failure) return {error, reported(own)};
  return {error, world_.rank == 0 ? "not run, because of " + reported(rank) : ""};
}

Ranks::Outcome Ranks::differing(const Account& account) const {
  Json own = Json::object();
  try {
    own = account();
  } catch (const std::exception& error) {
    own["files"] = std::string(error.what());
  }
  const std::vector<std::string> accounts = gather_(own.dump(-1, ' ', false, Json::error_handler_t::replace), seconds_);
  const Json reference = Json::parse(accounts.front());
  std::string all, of_this_one;
  for (std::size_t rank = 1; rank < accounts.size(); ++rank) {
    const std::string difference = difference_of(reference, Json::parse(accounts[rank]));
    if (difference.empty()) continue;
    const std::string sentence = fmt::format("{} differs from {}: {}", name(rank), name(0), difference);
    all += (all.empty() ? "" : "; ") + sentence;
    if (static_cast<int>(rank) == world_.rank) of_this_one = sentence;
  }
  if (all.empty()) all = "what they read has changed meanwhile";
  const std::string text = "ranks would not compute the same: " + all;
  return {error_of_status(2, text), first() ? text : of_this_one};
}

Ranks::Outcome Ranks::outcome_of(const std::vector<Word>& words, const std::exception_ptr& failure,
                                 const Account& account) const {
  if (std::any_of(words.begin(), words.end(), [](const Word& word) { return word.status != 0; }))
    return failed(words, failure);
  const auto same = [&](const Word& word) { return word.text == words.front().text; };
  if (std::all_of(words.begin(), words.end(), same)) return {};
  return differing(account);
}

Ranks::Outcome Ranks::meet(const PrepareDigest& prepare, const Account& account) const {
  if (!several()) {
    prepare();
    return {};
  }
  std::exception_ptr failure;
  const std::vector<Word> words = exchange(prepare, failure);
  return outcome_of(words, failure, account);
}

void Ranks::agree(const PrepareDigest& prepare, const Account& account) const {
  const Outcome outcome = meet(prepare, account);
  if (outcome.error) std::rethrow_exception(outcome.error);
}

void Ranks::end(const Outcome& outcome) const {
  if (!outcome.words.empty()) narrate("strobe: " + outcome.words);
  gather_("", seconds_);
  try {
    std::rethrow_exception(outcome.error);
  } catch (const std::exception& error) {
    throw AlreadyReported(status_of(error));
  }
}

void Ranks::agree_or_end(const PrepareDigest& prepare, const Account& account) const {
  const Outcome outcome = meet(prepare, account);
  if (outcome.error) end(outcome);
}

std::string Ranks::first_does(const std::function<std::string()>& work) const {
  if (!several()) return work();
  std::exception_ptr failure;
  const std::vector<Word> words = exchange([&] { return first() ? work() : std::string(); }, failure);
  if (std::any_of(words.begin(), words.end(), [](const Word& word) { return word.status != 0; }))
    end(failed(words, failure));
  return words.front().text;
}

}  // namespace strobe
