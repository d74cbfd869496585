// Numerics: who computes values. A device brings its family of kernels under a name of its own; nothing here knows one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace strobe {

/// A family of kernels, known by its name. The default is `none`: no kernels, and tensors keep their shapes only.
class Numerics {
 public:
  static const Numerics none;

  constexpr Numerics() = default;
  /// The family called `name`; the first mention makes it. Cost: a search among names, so keep the result.
  Numerics(const char* name) : id_(id_of(name)) {}
  /// A family that also has the kernels of `base`; its own go before those of the same variant or priority.
  Numerics(const char* name, Numerics base) : id_(id_of(name)), base_(base.id_) {}

  int id() const { return id_; }
  /// The family whose kernels complete it; `none` if there is no such family.
  Numerics base() const { return Numerics(base_); }
  /// "none" of the family without kernels.
  const std::string& name() const;
  bool operator==(const Numerics& other) const { return id_ == other.id_; }

 private:
  explicit constexpr Numerics(int id) : id_(id) {}
  static int id_of(std::string_view name);

  int id_ = 0;
  int base_ = 0;
};

inline constexpr Numerics Numerics::none{};

/// The operations that have kernels of the family or of its base, by variant.
std::map<std::string, std::set<std::string>> kernel_variants(Numerics numerics);
/// Notes a kernel for `kernel_variants`; for those who register one.
void note_kernel(Numerics numerics, const char* variant, std::string_view operation);

}  // namespace strobe
