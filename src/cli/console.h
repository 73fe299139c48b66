// Where a command's words go. Standard output is collected and written once, when the command has
// succeeded, so that an error leaves nothing half-written; progress and errors go to standard error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "report/text_table.h"

namespace wavefill::cli {

class Console {
 public:
  // Looks at the terminals behind stdout and stderr, NO_COLOR, TERM and the locale.
  Console();

  // What the user typed, quoted for a shell: for messages that say how to go on.
  void set_command_line(std::string text) { command_line_ = std::move(text); }
  const std::string& command_line() const { return command_line_; }

  // How tables for stdout may look.
  const report::TerminalStyle& style() const { return style_; }

  void print(std::string_view text) { output_ += text; }

  // Writes what was printed to stdout. False if that fails (a full disk, a closed pipe).
  bool flush();

  // "wavefill: error: <message>" on stderr.
  void error(std::string_view message);

  // A line on stderr, after clearing a progress line that stands there.
  void note(std::string_view line);

  // Progress of long work, `fraction` in 0..1. On a terminal: one line, rewritten, with the time left
  // estimated. Elsewhere: a plain line every few seconds, for logs.
  void progress(std::string_view what, double fraction);
  void end_progress();

 private:
  using Clock = std::chrono::steady_clock;

  std::string command_line_;
  std::string output_;
  report::TerminalStyle style_;
  bool stderr_is_terminal_ = false;
  bool progress_shown_ = false;
  Clock::time_point started_{};  // of the progress; the epoch: none is running
  Clock::time_point last_shown_{};
};

// "8 s", "3 min 20 s", "1 h 05 min".
std::string duration_text(double seconds);

}  // namespace wavefill::cli
