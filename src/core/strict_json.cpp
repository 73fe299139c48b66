#include "core/strict_json.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/parse.h"

namespace wavefill {
namespace {

using Json = nlohmann::json;

// Watches the parser, which itself takes any key and any depth.
class ParseGuard {
 public:
  explicit ParseGuard(int max_depth) : keys_(static_cast<std::size_t>(max_depth) + 1) {}

  // false drops the value, so that no fault costs memory. The parser itself goes on to the end, and may go
  // deeper than keys_ does: after a fault nothing is looked at.
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (!fault_.empty()) return false;
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (level + 1 >= keys_.size()) return fail(fmt::format("is nested deeper than {}", keys_.size() - 1));
      keys_[level + 1].clear();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_[level].insert(key).second) return fail("has the key " + quote_text(key) + " twice");
    }
    return true;
  }

  const std::string& fault() const { return fault_; }

 private:
  bool fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  std::vector<std::set<std::string>> keys_;  // by depth
  std::string fault_;
};

}  // namespace

Result<Json> parse_strict_json(std::string_view text, int max_depth) {
  const auto corrupt = [](std::string fault) { return Status(StatusCode::corrupt_data, std::move(fault)); };
  ParseGuard guard(max_depth);
  try {
    Json document = Json::parse(text.begin(), text.end(), std::ref(guard));
    if (!guard.fault().empty()) return corrupt(guard.fault());
    return document;
  } catch (const Json::parse_error& error) {
    if (!guard.fault().empty()) return corrupt(guard.fault());
    // The parser's own message may quote input.
    return corrupt(fmt::format("is not valid JSON at byte {} of {}", error.byte, text.size()));
  } catch (const Json::exception&) {
    return corrupt("is not valid JSON: a number is too large for any type");
  }
}

}  // namespace wavefill
