#include "cli/json_output.h"

namespace wavefill::cli {

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_json_option(OptionSet& set, bool& json) {
  set.flag("--json", json, "print one JSON document and nothing else");
}

}  // namespace wavefill::cli
