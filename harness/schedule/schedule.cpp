#include "harness/schedule/schedule.hpp"

namespace strobe {

bool ByteBudget::allows(std::size_t traffic, std::uint64_t sent) const {
  switch (promise[traffic]) {
    case Promise::exact:
      return sent == bytes[traffic];
    case Promise::at_most:
      return sent <= bytes[traffic];
    case Promise::as_measured:
      return true;
  }
  return false;
}

}  // namespace strobe
