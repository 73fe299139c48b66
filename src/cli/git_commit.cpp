#include "cli/git_commit.h"

#include <algorithm>
#include <filesystem>

#include "cli/files.h"
#include "cli/process.h"
#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

class Repository {
 public:
  explicit Repository(std::string directory) : directory_(std::move(directory)) {}

  Result<ProcessOutcome> git(std::vector<std::string> arguments,
                             const std::vector<std::string>& paths = {}) const {
    std::vector<std::string> command = {"git", "-C", directory_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    if (!paths.empty()) command.emplace_back("--");
    command.insert(command.end(), paths.begin(), paths.end());
    return run_process(command);
  }

  // git's words if it fails.
  Result<std::string> must(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& paths = {}) const {
    Result<ProcessOutcome> outcome = git(arguments, paths);
    if (!outcome.ok()) return outcome.status();
    if (outcome->exit_code == 0) return std::move(outcome->out);
    return make_status(StatusCode::unavailable, "git {} in {}: {}", arguments.front(), quote_text(directory_),
                       last_line(outcome->err.empty() ? outcome->out : outcome->err));
  }

  // Staged, or in the work tree with other content than the last commit's. Untracked counts.
  Result<bool> is_dirty(const std::string& name) const {
    const Result<std::string> status = must({"status", "--porcelain", "--untracked-files=all"}, {name});
    if (!status.ok()) return status.status();
    return !status->empty();
  }

  Result<bool> is_staged(const std::string& name) const {
    const Result<std::string> staged = must({"diff", "--cached", "--name-only"}, {name});
    if (!staged.ok()) return staged.status();
    return !staged->empty();
  }

 private:
  std::string directory_;
};

// Whether the file has to be written; an error if that would lose or mix up somebody's work.
Result<bool> needs_writing(const Repository& repository, const std::string& directory, const NewFile& file) {
  const Result<bool> staged = repository.is_staged(file.name);
  if (!staged.ok()) return staged.status();
  if (*staged) {
    return make_status(StatusCode::mismatch, "{} is staged in git; allowed: commit or unstage it first",
                       quote_text(file.name));
  }
  const std::string path = directory + "/" + file.name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return true;
  const Result<std::string> known = read_file("--commit", path);
  if (!known.ok()) return known.status();
  if (*known == file.content) return false;
  const Result<bool> dirty = repository.is_dirty(file.name);
  if (!dirty.ok()) return dirty.status();
  if (!*dirty) return true;  // the old content is in git's history
  return make_status(StatusCode::mismatch,
                     "{} has changes that are not committed; allowed: commit them first",
                     quote_text(file.name));
}

// Takes our files out of the index again, so that a failed commit leaves it as it was.
void unstage(const Repository& repository, const std::vector<std::string>& names) {
  const auto reset = repository.git({"reset", "--quiet"}, names);
  if (reset.ok() && reset->exit_code == 0) return;
  static_cast<void>(repository.git({"rm", "--cached", "--quiet"}, names));  // before the first commit
}

}  // namespace

Result<CommitOutcome> commit_files(const std::string& directory, const std::vector<NewFile>& files,
                                   const std::string& message) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return make_status(StatusCode::not_found,
                       "--commit is {}, which is no directory; allowed: one of a git work tree",
                       quote_text(directory));
  }
  const Repository repository(directory);
  const Result<std::string> top = repository.must({"rev-parse", "--show-toplevel"});
  if (!top.ok()) return top.status();
  CommitOutcome outcome;
  std::vector<std::string> uncommitted;
  for (const NewFile& file : files) {
    const Result<bool> write = needs_writing(repository, directory, file);
    if (!write.ok()) return write.status();
    if (*write) outcome.written.push_back(file.name);
    const Result<bool> dirty = repository.is_dirty(file.name);
    if (!dirty.ok()) return dirty.status();
    if (*write || *dirty) uncommitted.push_back(file.name);
  }
  for (const NewFile& file : files) {
    const bool wanted =
        std::find(outcome.written.begin(), outcome.written.end(), file.name) != outcome.written.end();
    if (wanted) WAVEFILL_RETURN_IF_ERROR(write_file(directory + "/" + file.name, file.content));
  }
  if (uncommitted.empty()) return outcome;
  if (const auto added = repository.must({"add"}, uncommitted); !added.ok()) return added.status();
  // With paths, git commits those alone and leaves what else is staged.
  if (const auto done = repository.must({"commit", "--quiet", "-m", message}, uncommitted); !done.ok()) {
    unstage(repository, uncommitted);
    return done.status();
  }
  const Result<std::string> head = repository.must({"rev-parse", "HEAD"});
  if (!head.ok()) return head.status();
  outcome.commit = last_line(*head);
  return outcome;
}

}  // namespace wavefill::cli
