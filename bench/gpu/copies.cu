// Sums host memory of every sort that a CUDA program uses (from malloc, pinned, registered, managed) on the
// device. run.py compares it with and without Terrace; it prints nothing that depends on addresses or times.
#include <nvtx3/nvToolsExt.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <sys/mman.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(e)); std::exit(1); } } while (0)
__global__ void sum(const unsigned long long* data, size_t n, unsigned long long* out) {
  unsigned long long s = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += data[i] * (i % 1021 + 1);
  atomicAdd(out, s);
}
__global__ void add(unsigned long long* data, size_t n, unsigned long long by) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) data[i] += by;
}
static unsigned long long summed(const unsigned long long* data, size_t n) {
  static unsigned long long* out;
  if (!out) CHECK(cudaMalloc(&out, sizeof *out));
  CHECK(cudaMemset(out, 0, sizeof *out));
  sum<<<256, 256>>>(data, n, out);
  unsigned long long s;
  CHECK(cudaMemcpy(&s, out, sizeof s, cudaMemcpyDeviceToHost));
  return s;
}
static void fill(unsigned long long* p, size_t n, unsigned long long seed) { for (size_t i = 0; i < n; ++i) p[i] = seed = seed * 6364136223846793005ULL + 1442695040888963407ULL; }
int main(int argc, char** argv) {
  const size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256, n = mib << 17;
  const int turns = argc > 2 ? std::atoi(argv[2]) : 12;
  auto* pageable = (unsigned long long*)std::malloc(n * 8);
  auto* back = (unsigned long long*)std::malloc(n * 8);
  auto* registered = (unsigned long long*)std::aligned_alloc(4096, n * 8);
  unsigned long long *pinned, *managed, *device;
  CHECK(cudaHostAlloc(&pinned, n * 8, cudaHostAllocDefault));
  CHECK(cudaMallocManaged(&managed, n * 8));
  CHECK(cudaMalloc(&device, n * 8));
  fill(pageable, n, 1); fill(pinned, n, 2); fill(registered, n, 3); fill(managed, n, 4);
  CHECK(cudaHostRegister(registered, n * 8, cudaHostRegisterDefault));
  cudaStream_t stream; CHECK(cudaStreamCreate(&stream));
  for (int turn = 0; turn < turns; ++turn) {
    nvtxRangePushA("turn");
    nvtxRangePushA("upload");
    CHECK(cudaMemcpy(device, pageable, n * 8, cudaMemcpyHostToDevice));
    unsigned long long a = summed(device, n);
    CHECK(cudaMemcpyAsync(device, pinned, n * 8, cudaMemcpyHostToDevice, stream)); CHECK(cudaStreamSynchronize(stream));
    unsigned long long b = summed(device, n);
    CHECK(cudaMemcpyAsync(device, registered, n * 8, cudaMemcpyHostToDevice, stream)); CHECK(cudaStreamSynchronize(stream));
    unsigned long long c = summed(device, n);
    nvtxRangePop();
    nvtxRangePushA("managed");
    add<<<256, 256>>>(managed, n, turn); CHECK(cudaDeviceSynchronize());
    unsigned long long d = 0; for (size_t i = 0; i < n; i += 512) d += managed[i];
    nvtxRangePop();
    nvtxRangePushA("download");
    add<<<256, 256>>>(device, n, turn + 1);
    CHECK(cudaMemcpy(back, device, n * 8, cudaMemcpyDeviceToHost));
    unsigned long long e = 0; for (size_t i = 0; i < n; ++i) { e += back[i]; pageable[i] += back[i] & 7; }
    nvtxRangePop(); nvtxRangePop();
    std::printf("%d: %llx %llx %llx %llx %llx\n", turn, a, b, c, d, e);
  }
  CHECK(cudaHostUnregister(registered));
  std::free(pageable); std::free(back); std::free(registered); CHECK(cudaFreeHost(pinned)); CHECK(cudaFree(managed)); CHECK(cudaFree(device));
  std::puts("done");
}
