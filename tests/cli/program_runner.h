// Running the built program as a user does: a process with arguments, an environment and two streams.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace wavefill::test {

struct Outcome {
  int exit_code = -1;  // -1: it did not exit by itself
  int signal = 0;      // that ended it
  std::string out;
  std::string err;
};

struct RunOptions {
  // Beside PATH and HOME, which are the test's; HOME is a fresh directory.
  std::map<std::string, std::string> environment;
  std::string directory;         // to run in; empty: the current one
  bool on_terminal = false;      // stdout and stderr are one terminal; what it got is Outcome::out
  double signal_after_s = -1.0;  // send `signal` then; negative: not by time
  std::string signal_at;         // send it once stderr has this; empty: not by text
  int signal = 0;
};

Outcome run_wavefill(const std::vector<std::string>& arguments, const RunOptions& options = {});

// The same with standard output going to `path`; Outcome::out is empty.
Outcome run_wavefill_to(const std::string& path, const std::vector<std::string>& arguments);

// "plan --device h200" -> its words. No quoting.
std::vector<std::string> words(const std::string& text);

// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const;  // what is in it, sorted

 private:
  std::string path_;
};

}  // namespace wavefill::test
