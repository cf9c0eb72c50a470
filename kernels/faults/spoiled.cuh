// spoiled.cuh: Spoils one tensor behind a right launch of an operation's reference. `fatune verify
// --selftest --kernel NAME` makes a fixture of each way; a test runs this on the host, too.

namespace spoiled {

enum How {
  kNothing,
  kZeros,
  kNan,            // one
  kWrongSign,      // of the largest element
  kLastUnwritten,  // as it was before the launch
  kOnePast,        // the element behind the last one changes
  kVaries,         // the last bit of the first element, in every second launch
  kStops,          // is not written from a late launch on
  kKeepsOld,       // is not written unless it looks poisoned
  kChanged,        // the last bit of the first element
};

/// A verification makes 18 launches at most (two sets of inputs and four more near a limit, each
/// three times), a timing 23 at least.
constexpr unsigned kHonestCalls = 20;
__device__ unsigned calls;

template <typename Word>
__device__ void keep(const Word* tensor, Word* kept, long long words) {
  const long long first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first == 0) ++calls;
  for (long long i = first; i < words; i += gridDim.x * blockDim.x) kept[i] = tensor[i];
}

/// Without their sign, the words of finite elements are ordered as the magnitudes are. The upper
/// half of eight bytes is enough.
template <typename Word>
__device__ void flip_largest(Word* tensor, long long words, Word sign) {
  __shared__ unsigned long long largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (long long i = threadIdx.x; i < words && i < 1ll << 32; i += blockDim.x) {
    const unsigned long long magnitude = (tensor[i] & (sign - 1u)) >> (sizeof(Word) == 8 ? 32 : 0);
    const unsigned long long here = magnitude << 32 | static_cast<unsigned long long>(i);
    mine = here > mine ? here : mine;
  }
  atomicMax(&largest, mine);
  __syncthreads();
  if (threadIdx.x == 0) tensor[largest & 0xffffffffu] ^= sign;
}

/// `kept`: what keep() found.
template <typename Word>
__device__ void spoil(How how, Word* tensor, const Word* kept, long long words) {
  constexpr Word kOnes = static_cast<Word>(~0ull);
  constexpr Word kSign = static_cast<Word>(kOnes ^ (kOnes >> 1));
  const long long first = blockIdx.x * blockDim.x + threadIdx.x;
  const bool poisoned = kept[0] == kOnes || kept[0] == static_cast<Word>(0x5a5a5a5a5a5a5a5aull);
  const bool put_back = how == kStops ? calls > kHonestCalls : how == kKeepsOld && !poisoned;
  if (put_back || how == kZeros) {
    for (long long i = first; i < words; i += gridDim.x * blockDim.x)
      tensor[i] = put_back ? kept[i] : Word(0);
  }
  if (how == kWrongSign && blockIdx.x == 0) flip_largest(tensor, words, kSign);
  if (first != 0) return;
  if (how == kNan) tensor[words / 2] = kOnes;
  if (how == kLastUnwritten) tensor[words - 1] = kept[words - 1];
  if (how == kOnePast) tensor[words] = static_cast<Word>(~tensor[words]);
  if (how == kVaries) tensor[0] = static_cast<Word>(tensor[0] ^ (calls & 1));
  if (how == kChanged) tensor[0] = static_cast<Word>(tensor[0] ^ 1);
}

}  // namespace spoiled
