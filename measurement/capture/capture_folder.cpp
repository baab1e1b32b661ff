#include "measurement/capture/capture_folder.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "measurement/analyze.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kPrefix = "round-";
constexpr std::string_view kSuffix = ".warc.gz";
constexpr const char* kDescription = "capture.json";

Error mistake(const std::filesystem::path& path, std::string_view problem) {
  return Error{ErrorKind::invalid, path.string() + ": " + std::string(problem)};
}

nlohmann::ordered_json json_of(const CapturePlan& plan) {
  return {{"prophecy_capture", 1}, {"kind", plan.kind}, {"interval_s", plan.interval_s}};
}

}  // namespace

Result<CaptureFolder> CaptureFolder::open(const std::filesystem::path& folder,
                                          const CapturePlan& plan) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return mistake(folder, problem.message());
  CaptureFolder opened(folder);
  const std::filesystem::path lock = folder / ".lock";
  opened.lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!opened.lock_) return io_error(lock.string());
  if (::flock(opened.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return mistake(folder, "another capture is under way in this folder");
  }
  const std::filesystem::path description = folder / kDescription;
  const auto wanted = json_of(plan);
  if (std::filesystem::is_directory(description)) return mistake(description, "expected a file");
  if (std::filesystem::exists(description)) {
    std::ifstream file(description);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto found = nlohmann::ordered_json::parse(text, nullptr, false);
    if (found == wanted) return opened;
    return mistake(description, "a capture of another kind or interval; choose another folder");
  }
  std::ofstream file(description);
  file << wanted.dump(2) << '\n';
  file.close();
  if (!file) return io_error(description.string());
  return opened;
}

std::uint64_t CaptureFolder::next_round() const {
  std::uint64_t round = 1;
  while (std::filesystem::exists(warc_of(round)))
    ++round;
  return round;
}

std::filesystem::path CaptureFolder::warc_of(std::uint64_t round) const {
  return folder_ / fmt::format("{}{:06}{}", kPrefix, round, kSuffix);
}

std::vector<std::string> rounds_in(const std::filesystem::path& folder) {
  std::vector<std::string> rounds;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) rounds.push_back(entry.path());
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds;
}

ExpandedInputs expand_captures(const std::vector<std::string>& inputs) {
  std::vector<std::string> all;
  for (const std::string& input : inputs) {
    std::error_code problem;
    std::vector<std::string> rounds;
    if (std::filesystem::is_directory(input, problem)) rounds = rounds_in(input);
    if (rounds.empty()) rounds = {input};
    all.insert(all.end(), rounds.begin(), rounds.end());
  }
  const auto place_of = [](const std::filesystem::path& file) {
    std::error_code problem;
    auto place = std::filesystem::weakly_canonical(file, problem);
    return problem ? file : place;
  };
  std::set<std::filesystem::path> sketches;  // of WARC files that are inputs as well
  for (const std::string& file : all) {
    if (file.ends_with(kSuffix)) sketches.insert(sketches_of(place_of(file)));
  }
  ExpandedInputs expanded;
  std::set<std::filesystem::path> taken;
  for (std::string& file : all) {
    const std::filesystem::path place = place_of(file);
    std::error_code problem;
    // A pipe has no content of its own to be read twice.
    const bool is_file = std::filesystem::is_regular_file(place, problem);
    std::string_view reason;
    if (is_file && !taken.insert(place).second) reason = "named twice";
    if (sketches.contains(place)) reason = "the sketch log of a WARC file that is an input as well";
    if (place.filename() == kDescription && !rounds_in(place.parent_path()).empty()) {
      reason = "describes a capture";
    }
    if (reason.empty()) {
      expanded.files.push_back(std::move(file));
    } else {
      expanded.messages.push_back(file + ": left out: " + std::string(reason));
    }
  }
  return expanded;
}

std::filesystem::path sketches_of(const std::filesystem::path& warc) {
  std::string path = warc.string();
  path.resize(path.size() - kSuffix.size());
  return path + ".sketches.jsonl";
}

Result<std::vector<Damage>> write_sketches(const std::filesystem::path& warc,
                                           const std::filesystem::path& temporary_folder) {
  AnalyzeOptions options;
  options.inputs = {warc.string()};
  options.temporary_folder = temporary_folder;
  options.spool_bytes = 0;
  options.sketch_log = sketches_of(warc).string() + ".part";
  auto result = analyze(options);
  if (!result) return std::move(result.error());
  InputFigures& input = result->inputs.front();
  if (!input.usable) return mistake(warc, "cannot be read again");
  if (::rename(options.sketch_log.c_str(), sketches_of(warc).c_str()) != 0) {
    return io_error(sketches_of(warc).string());
  }
  return std::move(input.damage);
}

}  // namespace prophecy::measurement
