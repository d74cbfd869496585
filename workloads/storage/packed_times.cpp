// Packs sorted times in blocks of 256, each block for itself:
//   A block's times become whole numbers: time * 10^k with the least k <= 9 for which dividing by 10^k returns every
//   time bit for bit (k = 0 for whole times). Where there is no such k, they are the bits of the doubles in their
//   order. The numbers' distances d from the first are kept in Elias and Fano's form. The low bits of each are kept
//   unchanged. The rest h = d >> low of the i-th number is a one at position h + i. `low` is such that h < 256, so
//   these ones fill at most 8 words. A word before them holds how many ones come before each of the 8 words.
// Returns exactly the times that went in: the decimal form is tried on every time, not assumed.
// Invariant: 10^k times the number is below 2^52, so that number, power and quotient are exact or rounded once.
// Cost: low + 2 to 2.5 bits a time (log2 of the mean distance, and 2 or 3 more) and 0.1 bytes of bookkeeping; access
// O(1), a few nanoseconds; in sequence about one.
// Source: Elias, Efficient storage and retrieval by content and address of static files, J. ACM 21, 1974; selection in
// a word: Vigna, Broadword implementation of rank/select queries, WEA 2008.
#include "workloads/storage/packed_times.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "workloads/storage/ordered_bits.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

constexpr std::size_t word_bits = 64, spare_words = 2;  // reading past the last low bits must stay inside
constexpr unsigned most_digits = 9, bit_coding = 15, most_uppers = 8;
constexpr double largest_whole = 4503599627370496.0;  // 2^52
constexpr std::array<double, most_digits + 1> powers = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
constexpr std::uint64_t every_byte = 0x0101010101010101;

using Numbers = std::array<std::uint64_t, PackedTimes::block_times>;

/// How a block is packed and where it is.
struct Place {
  std::uint64_t word = 0;  // its first
  unsigned uppers = 0;     // words of ones
  unsigned low = 0;        // bits that are stored unchanged
  unsigned coding = 0;     // decimal digits, or `bit_coding`

  std::uint64_t packed() const { return word << 24 | uppers << 16 | low << 8 | coding; }
  static Place of(std::uint64_t packed) {
    return {packed >> 24, static_cast<unsigned>(packed >> 16 & 0xff), static_cast<unsigned>(packed >> 8 & 0xff),
            static_cast<unsigned>(packed & 0xff)};
  }
  std::size_t words(std::size_t times) const { return 1 + uppers + (times * low + word_bits - 1) / word_bits; }
};

double time_of(std::uint64_t number, unsigned coding) {
  if (coding != bit_coding) return static_cast<double>(static_cast<std::int64_t>(number)) / powers[coding];
  return from_ordered_bits(number);
}

/// `time` * 10^digits as a whole number when that gives the time back, with its sign of zero.
bool scaled(double time, unsigned digits, std::uint64_t& number) {
  const double product = time * powers[digits];
  if (!(std::abs(product) < largest_whole)) return false;
  number = static_cast<std::uint64_t>(static_cast<std::int64_t>(product + std::copysign(0.5, product)));
  return std::bit_cast<std::uint64_t>(time_of(number, digits)) == std::bit_cast<std::uint64_t>(time);
}

/// Whether all of `times` are whole numbers at 10^-digits; if so, `numbers` are these.
bool scale_all(std::span<const double> times, unsigned digits, Numbers& numbers) {
  bool good = true;
  for (std::size_t i = 0; i < times.size() && good; ++i) good = scaled(times[i], digits, numbers[i]);
  return good;
}

/// Whether all of `times` are whole; if so, `numbers` are these. The same as `scale_all` with no digits, without
/// division.
bool take_whole(std::span<const double> times, Numbers& numbers) {
  bool good = true;
  for (std::size_t i = 0; i < times.size() && good; ++i) {
    good = std::abs(times[i]) < largest_whole;
    if (!good) break;
    const auto whole = static_cast<std::int64_t>(times[i]);
    numbers[i] = static_cast<std::uint64_t>(whole);
    good = std::bit_cast<std::uint64_t>(static_cast<double>(whole)) == std::bit_cast<std::uint64_t>(times[i]);
  }
  return good;
}

/// Turns times into whole numbers; returns the coding.
unsigned to_numbers(std::span<const double> times, Numbers& numbers) {
  if (take_whole(times, numbers)) return 0;
  unsigned digits = 0;
  for (const double time : times) {
    while (digits <= most_digits && !scaled(time, digits, numbers[0])) ++digits;
  }
  if (digits <= most_digits && scale_all(times, digits, numbers)) return digits;
  std::transform(times.begin(), times.end(), numbers.begin(), ordered_bits);
  return bit_coding;
}

/// The numbers of times whose coding is known.
void to_numbers(std::span<const double> times, unsigned coding, Numbers& numbers) {
  if (coding == 0)
    take_whole(times, numbers);
  else if (coding == bit_coding)
    std::transform(times.begin(), times.end(), numbers.begin(), ordered_bits);
  else
    scale_all(times, coding, numbers);
}

/// The block's place, without its word.
Place measure(std::span<const std::uint64_t> numbers, unsigned coding) {
  const std::uint64_t span = numbers.back() - numbers.front();
  const auto low = static_cast<unsigned>(std::bit_width(span / PackedTimes::block_times));
  const std::size_t ones_end = (span >> low) + numbers.size();
  return {0, static_cast<unsigned>((ones_end + word_bits - 1) / word_bits), low, coding};
}

void encode(std::span<const std::uint64_t> numbers, const Place& place, std::uint64_t* words) {
  std::uint64_t* const uppers = words + 1;
  std::uint64_t* const lowers = uppers + place.uppers;
  const std::uint64_t mask = place.low == 0 ? 0 : ~std::uint64_t{0} >> (word_bits - place.low);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t distance = numbers[i] - numbers.front();
    const std::size_t one = (distance >> place.low) + i, bit = i * place.low, shift = bit % word_bits;
    uppers[one / word_bits] |= std::uint64_t{1} << one % word_bits;
    if (place.low == 0) continue;
    lowers[bit / word_bits] |= (distance & mask) << shift;
    if (shift + place.low > word_bits) lowers[bit / word_bits + 1] |= (distance & mask) >> (word_bits - shift);
  }
  unsigned before = 0;
  for (unsigned w = 0; w < most_uppers; ++w) {
    words[0] |= std::uint64_t{w < place.uppers ? before : 255} << 8 * w;
    if (w < place.uppers) before += static_cast<unsigned>(std::popcount(uppers[w]));
  }
}

/// The low bits of time i of a block.
std::uint64_t low_bits(const std::uint64_t* lowers, std::size_t i, unsigned low) {
  const std::size_t bit = i * low, shift = bit % word_bits;
  const std::uint64_t* const word = lowers + bit / word_bits;
  const std::uint64_t mask = low == 0 ? 0 : ~std::uint64_t{0} >> (word_bits - low);
  return (word[0] >> shift | (word[1] << 1) << (word_bits - 1 - shift)) & mask;
}

/// Position of the one that has `rank` ones below it.
unsigned select(std::uint64_t word, unsigned rank) {
  std::uint64_t sums = word - (word >> 1 & 0x5555555555555555);
  sums = (sums & 0x3333333333333333) + (sums >> 2 & 0x3333333333333333);
  sums = ((sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0f) * every_byte;  // byte b: ones in the bytes 0 .. b
  const std::uint64_t not_above = ((rank * every_byte | 0x80 * every_byte) - sums) & 0x80 * every_byte;
  const auto bit = static_cast<unsigned>((not_above >> 7) * every_byte >> 56) * 8;
  word >>= bit;
  for (rank -= static_cast<unsigned>(sums << 8 >> bit & 0xff); rank > 0; --rank) word &= word - 1;
  return bit + static_cast<unsigned>(std::countr_zero(word));
}

/// Measures all blocks; false when times decrease somewhere.
bool measure_all(std::size_t size, const ReadTimes& times, std::span<std::int64_t> bases,
                 std::span<std::uint64_t> places) {
  constexpr std::size_t blocks_a_task = 256;
  std::atomic<bool> sorted{true};
  parallel_tasks(static_cast<std::int64_t>((bases.size() + blocks_a_task - 1) / blocks_a_task), [&](std::int64_t task) {
    std::array<double, PackedTimes::block_times> values;
    Numbers numbers;
    const std::size_t begin = static_cast<std::size_t>(task) * blocks_a_task;
    for (std::size_t b = begin; b < std::min(begin + blocks_a_task, bases.size()); ++b) {
      const std::size_t first = b * PackedTimes::block_times, count = std::min(values.size(), size - first);
      times(first, {values.data(), count});
      const unsigned coding = to_numbers({values.data(), count}, numbers);
      bases[b] = static_cast<std::int64_t>(numbers[0]);
      places[b] = measure({numbers.data(), count}, coding).packed();
      for (std::size_t i = 1; i < count; ++i) {
        const bool falls = coding == bit_coding
                               ? numbers[i] < numbers[i - 1]
                               : static_cast<std::int64_t>(numbers[i]) < static_cast<std::int64_t>(numbers[i - 1]);
        if (falls) sorted = false;
      }
    }
  });
  return sorted;
}

}  // namespace

PackedTimes PackedTimes::pack(std::size_t size, const ReadTimes& times) {
  const std::size_t blocks = blocks_of(size);
  std::vector<std::int64_t> bases(blocks);
  std::vector<std::uint64_t> places(blocks);
  if (!measure_all(size, times, bases, places)) return {};
  std::uint64_t words = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    Place place = Place::of(places[b]);
    place.word = words;
    words += place.words(std::min(block_times, size - b * block_times));
    places[b] = place.packed();
  }
  words += spare_words;
  if (2 * blocks + words >= size) return {};
  Pages memory(words * sizeof(std::uint64_t));
  auto* const out = reinterpret_cast<std::uint64_t*>(memory.data());
  constexpr std::size_t blocks_a_task = 256;
  parallel_tasks(static_cast<std::int64_t>((blocks + blocks_a_task - 1) / blocks_a_task), [&](std::int64_t task) {
    std::array<double, block_times> values;
    Numbers numbers;
    const std::size_t begin = static_cast<std::size_t>(task) * blocks_a_task;
    for (std::size_t b = begin; b < std::min(begin + blocks_a_task, blocks); ++b) {
      const std::size_t first = b * block_times, count = std::min(values.size(), size - first);
      times(first, {values.data(), count});
      const Place place = Place::of(places[b]);
      to_numbers({values.data(), count}, place.coding, numbers);
      encode({numbers.data(), count}, place, out + place.word);
    }
  });
  return {size, std::move(bases), std::move(places), make_column<std::uint64_t>(std::move(memory), words)};
}

double PackedTimes::operator[](std::size_t i) const {
  const std::size_t block = i / block_times;
  const auto at = static_cast<unsigned>(i % block_times);
  const Place place = Place::of(places_[block]);
  const std::uint64_t* const words = words_.data() + place.word;
  unsigned word = 0;
  for (unsigned w = 1; w < most_uppers; ++w) word += (words[0] >> 8 * w & 0xff) <= at;
  word = std::min(word, place.uppers - 1);
  const unsigned rank = at - static_cast<unsigned>(words[0] >> 8 * word & 0xff);
  const std::uint64_t high = word_bits * word + select(words[1 + word], rank) - at;
  const std::uint64_t distance = high << place.low | low_bits(words + 1 + place.uppers, at, place.low);
  return time_of(static_cast<std::uint64_t>(bases_[block]) + distance, place.coding);
}

void PackedTimes::bring_in(std::size_t i) const {
  const Place place = Place::of(places_[i / block_times]);
  const std::uint64_t* const words = words_.data() + place.word;
  __builtin_prefetch(words);
  __builtin_prefetch(words + 1 + place.uppers + i % block_times * place.low / word_bits);
}

void PackedTimes::copy_block(std::size_t block, std::span<double> out) const {
  const Place place = Place::of(places_[block]);
  const std::uint64_t* const uppers = words_.data() + place.word + 1;
  const std::uint64_t* const lowers = uppers + place.uppers;
  const std::uint64_t base = bases_[block];
  std::size_t i = 0;
  for (unsigned w = 0; w < place.uppers; ++w) {
    for (std::uint64_t ones = uppers[w]; ones != 0; ones &= ones - 1, ++i) {
      const std::uint64_t high = word_bits * w + static_cast<unsigned>(std::countr_zero(ones)) - i;
      out[i] = time_of(base + (high << place.low | low_bits(lowers, i, place.low)), place.coding);
    }
  }
}

void PackedTimes::copy(std::size_t first, std::span<double> out) const {
  std::array<double, block_times> values;
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t block = (first + done) / block_times, skip = (first + done) % block_times;
    const std::size_t count = std::min(times_in(block) - skip, out.size() - done);
    copy_block(block, values);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(skip), count, out.data() + done);
    done += count;
  }
}

bool PackedTimes::sound_block(std::size_t block) const {
  const Place place = Place::of(places_[block]);
  const std::size_t times = times_in(block), room = words_.size() - spare_words;
  const bool known = place.coding <= most_digits || place.coding == bit_coding;
  if (!known || place.uppers == 0 || place.uppers > most_uppers || place.low >= word_bits) return false;
  if (place.word > room || place.words(times) > room - place.word) return false;
  const std::uint64_t* const words = words_.data() + place.word;
  std::size_t before = 0;
  for (unsigned w = 0; w < most_uppers; ++w) {
    if ((words[0] >> 8 * w & 0xff) != (w < place.uppers ? before : 255)) return false;
    if (w < place.uppers) before += static_cast<std::size_t>(std::popcount(words[1 + w]));
  }
  return before == times && words[place.uppers] != 0;
}

bool PackedTimes::sound() const {
  const std::size_t blocks = blocks_of(size_);
  bool good = bases_.size() == blocks && places_.size() == blocks && words_.size() >= spare_words;
  for (std::size_t b = 0; b < blocks && good; ++b) good = sound_block(b);
  return good;
}

}  // namespace strobe
