// wavefill profile: what a profile holds, whether it would be served here, and how two differ.
#include <memory>

#include "cli/command.h"
#include "cli/profile_run.h"
#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

struct ProfileOptions {
  std::string action;
  std::vector<std::string> files;
  DeviceOptions device;
  bool json = false;
};

Status check_count(const ProfileOptions& options, std::size_t count) {
  if (options.files.size() == count) return {};
  return invalid_argument("profile {} has {} files; allowed: {}", options.action, options.files.size(),
                          count);
}

Result<ExitCode> show(const ProfileOptions& options, Console& console) {
  WAVEFILL_RETURN_IF_ERROR(check_count(options, 1));
  const Result<Profile> profile = Profile::read(options.files[0]);
  if (!profile.ok()) return profile.status();
  console.print(options.json ? json_text(show_document(*profile)) : show_text(*profile, console.style()));
  return ExitCode::ok;
}

Result<ExitCode> check(const ProfileOptions& options, Console& console) {
  WAVEFILL_RETURN_IF_ERROR(check_count(options, 1));
  const Result<ProfileCheck> checked = check_profile(options.files[0], options.device);
  if (!checked.ok()) return checked.status();
  console.print(options.json ? json_text(document(*checked)) : text_of(*checked));
  return checked->problem.empty() ? ExitCode::ok : ExitCode::no;
}

Result<ExitCode> diff(const ProfileOptions& options, Console& console) {
  WAVEFILL_RETURN_IF_ERROR(check_count(options, 2));
  const Result<Profile> a = Profile::read(options.files[0]);
  if (!a.ok()) return a.status();
  const Result<Profile> b = Profile::read(options.files[1]);
  if (!b.ok()) return b.status();
  const ProfileDiff found = diff_profiles(*a, *b);
  console.print(options.json ? json_text(document(found)) : text_of(found, console.style()));
  return found.key.empty() && found.rows.empty() ? ExitCode::ok : ExitCode::no;
}

Result<ExitCode> run(const ProfileOptions& options, Console& console) {
  if (options.action == "show") return show(options, console);
  if (options.action == "check") return check(options, console);
  if (options.action == "diff") return diff(options, console);
  return invalid_argument("profile action is {}; allowed: show, check, diff", quote_text(options.action));
}

}  // namespace

Action define_profile(OptionSet& set) {
  const auto options = std::make_shared<ProfileOptions>();
  set.word(
      "action", options->action,
      "show: what it was measured for, and its settings; check: whether it would be served here (exit code "
      "1: no); diff: what two serve differently (exit code 1: something)");
  set.words("files", options->files, "FILE", "the profile, or the two to compare");
  add_json_option(set, options->json);
  add_device_options(set, options->device);
  add_kernel_option(set, options->device, "the profile's, else the first that takes the shape");
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
