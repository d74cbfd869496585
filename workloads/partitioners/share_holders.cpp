#include "workloads/partitioners/share_holders.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include "core/errors.hpp"
#include "workloads/partitioners/other_rank_failed.hpp"
#include "workloads/partitioners/run_exchanges.hpp"

namespace strobe {
namespace {

constexpr char exchange_made = '+', exchange_failed = '-';  // last in a message of an exchange

/// The messages of all, without the mark. Throws OtherRankFailed where another process does not partition.
std::vector<std::string> meet(const ShareHolders& holders, const std::string& own) {
  if (!holders.several()) return {own};
  std::vector<std::string> all = holders.gather(partition_mark + own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty() || all[rank].front() != partition_mark) throw OtherRankFailed(rank, "");
    all[rank].erase(0, 1);
  }
  return all;
}

/// Work, and how it failed.
struct Attempt {
  std::exception_ptr failure;
  std::string words;

  explicit Attempt(const std::function<void()>& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      failure = std::current_exception();
      words = "its memory is exhausted";
    } catch (const std::exception& error) {
      failure = std::current_exception();
      words = error.what();
      if (words.empty()) words = "an error without a message";
    }
  }
};

}  // namespace

void ShareHolders::together(const std::function<void()>& work) const {
  const Attempt own(work);
  const std::vector<std::string> all = several() ? meet(*this, own.words) : std::vector{own.words};
  if (own.failure) std::rethrow_exception(own.failure);
  for (std::size_t other = 0; other < all.size(); ++other)
    if (!all[other].empty()) throw OtherRankFailed(other, all[other]);
}

std::vector<std::string> ShareHolders::exchange(const std::function<std::vector<std::string>()>& make) const {
  if (!several()) return make();
  std::vector<std::string> words;
  const Attempt own([&] { words = make(); });
  if (own.failure) words.assign(size, own.words);
  for (std::string& text : words) text.push_back(own.failure ? exchange_failed : exchange_made);
  words = all_to_all(words);
  if (own.failure) std::rethrow_exception(own.failure);
  for (std::size_t other = 0; other < words.size(); ++other) {
    const bool well = words[other].back() == exchange_made;
    words[other].pop_back();
    if (!well) throw OtherRankFailed(other, words[other]);
  }
  return words;
}

void run_exchanges(const ShareHolders& holders, const std::function<void(const ShareHolders&)>& work) {
  if (!holders.several()) return work(holders);
  bool over = false;  // the last exchange did not end, or one of the processes failed in it
  ShareHolders watched = holders;
  watched.all_to_all = [&](const std::vector<std::string>& to) {
    over = true;
    std::vector<std::string> received = holders.all_to_all(to);
    over = std::any_of(received.begin(), received.end(), [](const std::string& text) {
      return text.back() == exchange_failed;  // also that to itself
    });
    return received;
  };
  const Attempt own([&] { work(watched); });
  if (own.failure && over) std::rethrow_exception(own.failure);
  holders.exchange([&] {
    if (own.failure) std::rethrow_exception(own.failure);
    return std::vector<std::string>(holders.size);
  });
}

std::vector<std::int64_t> ShareHolders::sums(const std::vector<std::int64_t>& own) const {
  std::vector<std::int64_t> sum(own.size());
  for (int turn = 0; turn < size; ++turn) {
    const std::vector<std::int64_t> values = broadcast(turn, own);
    std::transform(sum.begin(), sum.end(), values.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

std::string ShareHolders::broadcast_bytes(int from, std::string own) const {
  if (from != rank) own.clear();
  return meet(*this, own)[from];
}

}  // namespace strobe
