// Committing files that we write to a repository that is somebody else's.
#pragma once

#include <string>
#include <vector>

#include "wavefill/status.h"

namespace wavefill::cli {

struct NewFile {
  std::string name;  // within the directory
  std::string content;
};

struct CommitOutcome {
  std::vector<std::string> written;  // names of files that were not there as they are now
  std::string commit;                // its id; empty if there was nothing to commit
};

// Writes `files` to `directory` of a git work tree and commits those alone: whatever else is changed or
// staged there stays as it is. A file that is there already with the same content is left alone. Errors:
// not_found (no such directory), unavailable (no git, no repository, git's own refusal: its words), mismatch
// (one of the files is staged, or is there with other content that is not committed: nothing is written).
Result<CommitOutcome> commit_files(const std::string& directory, const std::vector<NewFile>& files,
                                   const std::string& message);

}  // namespace wavefill::cli
