#include "cli/option_set.h"

#include <CLI/CLI.hpp>

namespace wavefill::cli {

void OptionSet::text(const std::string& name, std::string& value, const std::string& type,
                     const std::string& help) {
  CLI::Option* option = app_.add_option(name, value, help)->type_name(type)->group(group_);
  if (!value.empty()) option->capture_default_str();
}

void OptionSet::required_text(const std::string& name, std::string& value, const std::string& type,
                              const std::string& help) {
  app_.add_option(name, value, help)->type_name(type)->group(group_)->required();
}

// expected(1): "--policy a b" is a mistake, not two settings.
void OptionSet::texts(const std::string& name, std::vector<std::string>& values, const std::string& type,
                      const std::string& help) {
  app_.add_option(name, values, help)->type_name(type)->group(group_)->expected(1)->take_all();
}

void OptionSet::word(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("")->group(group_)->required();
}

void OptionSet::words(const std::string& name, std::vector<std::string>& values, const std::string& type,
                      const std::string& help) {
  app_.add_option(name, values, help)->type_name(type)->group(group_)->required();
}

void OptionSet::flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help)->group(group_);
}

}  // namespace wavefill::cli
