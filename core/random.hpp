// Counter-based random numbers: a value depends only on (seed, stream key, index), never on who asks or in what order,
// so results are the same at every rank count. Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC'11).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"

namespace strobe {

/// One Philox4x32-10 block: four 32-bit words from a 128-bit counter and a 64-bit key.
STROBE_HOST_DEVICE inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// A random stream named by a seed and a key (for instance: purpose, step). `at(i)` is random access.
class RandomStream {
 public:
  STROBE_HOST_DEVICE RandomStream(std::uint64_t seed, std::uint32_t purpose, std::uint32_t key = 0)
      : seed_(seed), purpose_(purpose), key_(key) {}

  /// The i-th 64 random bits of the stream.
  STROBE_HOST_DEVICE std::uint64_t bits(std::uint64_t i) const {
    const auto words = philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), purpose_, key_},
                              {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    return (std::uint64_t{words[1]} << 32) | words[0];
  }

  /// The i-th value, uniform in [0, 1) with 53 bits.
  STROBE_HOST_DEVICE double uniform(std::uint64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1.0p-53; }

  /// The i-th value, uniform over the integers [0, n), n > 0, by multiply-shift (bias below n / 2^64).
  STROBE_HOST_DEVICE std::uint64_t below(std::uint64_t i, std::uint64_t n) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits(i)) * n) >> 64);
  }

  /// The i-th standard normal value (Box-Muller on the pair 2i, 2i + 1).
  STROBE_HOST_DEVICE double normal(std::uint64_t i) const {
    const double u = 1.0 - uniform(2 * i);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * uniform(2 * i + 1));
  }

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_;
  std::uint32_t key_;
};

/// Purposes keep streams of one seed apart; a new use of randomness takes a new number.
namespace random_purpose {
inline constexpr std::uint32_t parameters = 1;
inline constexpr std::uint32_t positives = 2;
inline constexpr std::uint32_t negatives = 3;
inline constexpr std::uint32_t generator = 4;
inline constexpr std::uint32_t partition = 5;
inline constexpr std::uint32_t bootstrap = 6;
inline constexpr std::uint32_t test = 7;
inline constexpr std::uint32_t ranking = 9;
inline constexpr std::uint32_t held_out = 11;
}  // namespace random_purpose

}  // namespace strobe
