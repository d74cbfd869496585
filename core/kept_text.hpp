// Text that lives as long as the process. Spans and plug-ins take names as static text; this stores names that come
// from a file or from a rank in another process.
#pragma once

#include <string>
#include <string_view>

namespace strobe {

/// The one copy of `text`, which is never freed; meant for few texts, such as names. Any thread may call it.
std::string_view kept_text(std::string_view text);

}  // namespace strobe
