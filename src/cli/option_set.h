// The options of a command, as it declares them. Values are kept as written and read strictly later, by
// functions that say what is allowed. CLI11 stands behind this and is included in one source file only:
// it costs seconds in each.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace wavefill::cli {

// Every reference must outlive the parsing.
class OptionSet {
 public:
  explicit OptionSet(CLI::App& app) : app_(app) {}

  // The options added from here on stand under this heading in --help.
  void begin_group(std::string heading) { group_ = std::move(heading); }

  // A value that is there already is the default, and shown as such.
  void text(const std::string& name, std::string& value, const std::string& type, const std::string& help);
  void required_text(const std::string& name, std::string& value, const std::string& type,
                     const std::string& help);

  // An option that may be given several times.
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& type,
             const std::string& help);

  // A word that stands by itself, in the order of declaration; words() takes all that follow.
  void word(const std::string& name, std::string& value, const std::string& help);
  void words(const std::string& name, std::vector<std::string>& values, const std::string& type,
             const std::string& help);

  void flag(const std::string& name, bool& value, const std::string& help);

 private:
  CLI::App& app_;
  std::string group_ = "Options";
};

}  // namespace wavefill::cli
