#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace wavefill::cli {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kLogInterval = std::chrono::seconds(5);
constexpr std::size_t kBarWidth = 24;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

// The first of LC_ALL, LC_CTYPE and LANG that is set decides, as in setlocale().
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos ||
           value.find("utf-8") != value.npos;
  }
  return false;
}

void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

Console::Console() : stderr_is_terminal_(isatty(STDERR_FILENO) == 1) {
  const bool stdout_is_terminal = isatty(STDOUT_FILENO) == 1;
  style_.color = stdout_is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  style_.unicode = stdout_is_terminal && locale_is_utf8();
}

bool Console::flush() {
  const bool written = std::fwrite(output_.data(), 1, output_.size(), stdout) == output_.size();
  output_.clear();
  return std::fflush(stdout) == 0 && written;
}

void Console::error(std::string_view message) {
  end_progress();
  write_stderr(fmt::format("wavefill: error: {}\n", message));
}

void Console::note(std::string_view line) {
  if (progress_shown_ && stderr_is_terminal_) write_stderr("\r\x1b[K");
  progress_shown_ = false;
  write_stderr(fmt::format("{}\n", line));
}

void Console::progress(std::string_view what, double fraction) {
  const auto now = Clock::now();
  if (started_ == Clock::time_point{}) {
    started_ = now;
    last_shown_ = {};
  }
  const bool is_due = now - last_shown_ >= (stderr_is_terminal_ ? Clock::duration(kTerminalInterval)
                                                                : Clock::duration(kLogInterval));
  if (!is_due) return;
  last_shown_ = now;

  fraction = std::clamp(fraction, 0.0, 1.0);
  const double elapsed_s = std::chrono::duration<double>(now - started_).count();
  const std::string left =
      fraction > 0.0 ? ", about " + duration_text(elapsed_s * (1.0 - fraction) / fraction) + " left" : "";
  const auto percent = static_cast<int>(fraction * 100);
  if (stderr_is_terminal_) {
    const std::string bar = report::bar(fraction, kBarWidth, {.color = false, .unicode = style_.unicode});
    write_stderr(fmt::format("\r\x1b[K{} {:3}% {}{}", bar, percent, what, left));
  } else {
    write_stderr(fmt::format("{:3}% {}{}\n", percent, what, left));
  }
  progress_shown_ = true;
}

void Console::end_progress() {
  if (progress_shown_ && stderr_is_terminal_) write_stderr("\r\x1b[K");
  progress_shown_ = false;
  started_ = {};
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace wavefill::cli
