// Runs a fuzz target without libFuzzer, under any compiler: what is committed as its corpus, then
// mutations of that and of nothing for some seconds. It is not led by coverage, as `./run fuzz` is;
// it finds what a change has broken.
//
//   TARGET_replay [--seed S] [--seconds N] CORPUS...
//
// Draws a seed and prints it. What fails is repeated by its seed: the same one makes the same
// inputs, and the number of the one that failed is printed as well.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kInputBytesMax = 4096;
constexpr std::size_t kMutationsMax = 8;

// For the handler of signals.
std::uint64_t current_seed = 0;
volatile std::sig_atomic_t current_input = 0;

void on_failure(int signal) {
  std::array<char, 128> text;
  const int size = std::snprintf(text.data(), text.size(), "failed: --seed %llu, input %lld\n",
                                 static_cast<unsigned long long>(current_seed),
                                 static_cast<long long>(current_input));
  static_cast<void>(!::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(size)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

using Input = std::vector<std::uint8_t>;

std::vector<Input> read_corpus(const std::vector<std::filesystem::path>& folders) {
  std::vector<std::filesystem::path> paths;
  for (const auto& folder : folders) {
    if (!std::filesystem::is_directory(folder)) {
      std::fprintf(stderr, "%s is no folder\n", folder.c_str());
      std::exit(2);
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // a seed's inputs depend on their order
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  Input next() {
    Input input = below(4) == 0 || corpus_.empty() ? bytes(below(512)) : any();
    for (std::size_t count = 1 + below(kMutationsMax); count > 0; --count)
      mutate(input);
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  Input bytes(std::size_t count) {
    Input made(count);
    for (auto& byte : made)
      byte = static_cast<std::uint8_t>(random_());
    return made;
  }
  const Input& any() { return corpus_[below(corpus_.size())]; }

  void mutate(Input& input) {
    const std::size_t at = below(input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t rest = input.size() - at;
    switch (below(6)) {
      case 0:
        if (rest > 0) *place ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        if (rest > 0) *place = static_cast<std::uint8_t>(random_());
        break;
      case 2: {
        const Input more = bytes(1 + below(16));
        input.insert(place, more.begin(), more.end());
        break;
      }
      case 3:
        input.erase(place, place + static_cast<std::ptrdiff_t>(std::min(rest, below(32))));
        break;
      case 4: {  // again, what stands there
        const Input again(place, place + static_cast<std::ptrdiff_t>(std::min(rest, below(64))));
        input.insert(input.end(), again.begin(), again.end());
        break;
      }
      default:  // its beginning, and another's end
        if (corpus_.empty()) break;
        input.erase(place, input.end());
        const Input& other = any();
        input.insert(input.end(),
                     other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)),
                     other.end());
    }
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_;
};

void run(const Input& input) {
  // Of exactly this size on the heap, for checkers of memory.
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seconds = 20;
  current_seed = std::random_device{}();
  std::vector<std::filesystem::path> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word != "--seed" && word != "--seconds") {
      folders.emplace_back(word);
      continue;
    }
    const std::string_view value = ++i < argc ? argv[i] : "";
    std::uint64_t& into = word == "--seed" ? current_seed : seconds;
    const auto end = value.data() + value.size();
    if (value.empty() || std::from_chars(value.data(), end, into).ptr != end) {
      std::fprintf(stderr, "%s takes a number\n", argv[i - 1]);
      return 2;
    }
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, on_failure);
  std::printf("seed %llu\n", static_cast<unsigned long long>(current_seed));
  std::fflush(stdout);
  const std::vector<Input> corpus = read_corpus(folders);
  for (const Input& input : corpus) {
    run(input);
    current_input = current_input + 1;
  }
  Mutator mutator(corpus, current_seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    run(mutator.next());
    current_input = current_input + 1;
  }
  std::printf("%lld inputs, %zu of them committed\n", static_cast<long long>(current_input),
              corpus.size());
}
