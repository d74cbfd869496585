#include "core/json_templates.hpp"

template class nlohmann::basic_json<nlohmann::ordered_map>;
