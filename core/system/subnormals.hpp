// Treats subnormal numbers (below 1.2e-38 in fp32) as zero. Gradients of vertices far from every sample shrink into
// them, and x86 takes over a hundred cycles for one operation on them: an epoch of DySAT took 4 times as long. GPUs and
// frameworks with their usual flags flush them too.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace strobe {

enum class Subnormals { keep, flush };

/// While it lives, this thread's arithmetic reads and writes subnormal numbers as zero. Does nothing on processors
/// without such a mode here.
class FlushSubnormals {
 public:
#if defined(__SSE__)
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_to_zero | subnormals_are_zero); }
  ~FlushSubnormals() { _mm_setcsr(before_); }
#else
  FlushSubnormals() = default;
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__SSE__)
  static constexpr unsigned flush_to_zero = 0x8000, subnormals_are_zero = 0x0040;  // Intel SDM volume 1, MXCSR
  unsigned before_;
#endif
};

}  // namespace strobe
