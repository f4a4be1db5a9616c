// Implements backprop: one training step of a neural network with one hidden layer of 16 units (Rodinia; Che et
// al., "Rodinia: a benchmark suite for heterogeneous computing", IISWC 2009). The GPU computes the wide layer from
// the inputs to the hidden units: sums of products by CTAs of 16 x 16, each of which reduces its tile in shared
// memory, and later the change of the weights with momentum. The host computes the rest: the hidden units, the
// output unit, the errors.
//
// As published, the forward kernel leaves its reduced tile in the array of weights, and the host copies the
// weights again. Weights are random around zero, so that hidden units are not saturated, and the previous changes
// are non-zero; with the published values the weights would not change at all. Inputs are padded with zeros to a
// multiple of 16. The host does not change the weights of the output layer, because no kernel reads them.
#include <algorithm>
#include <cmath>
#include <random>

#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::int32_t k_width = 16;         // of a tile; also the number of hidden units
constexpr std::int32_t k_row = k_width + 1;  // weights of an input; the first is not used
constexpr std::int32_t k_threads = k_width * k_width;
constexpr float k_learning_rate = 0.3F;
constexpr float k_momentum = 0.3F;
constexpr double k_target = 0.1;  // of the output unit

// Initial state of the training. Unit 0 of a layer is the constant 1.
struct Network {
  std::vector<float> inputs;
  std::vector<float> weights;  // input by input, 17 each
  std::vector<float> changes;  // of the weights, in the previous step
  std::vector<float> output_weights;
};

double squash(double sum) { return 1 / (1 + std::exp(-sum)); }

// Computes the errors of the hidden units, as the host does between the kernels.
std::vector<double> hidden_errors(const std::vector<double>& hidden_sums, const Network& network) {
  double sum = network.output_weights[0];
  for (std::size_t j = 1; j < hidden_sums.size(); ++j) sum += squash(hidden_sums[j]) * network.output_weights[j];
  const auto output = squash(sum);
  const auto output_error = output * (1 - output) * (k_target - output);
  std::vector<double> errors(hidden_sums.size());
  for (std::size_t j = 1; j < errors.size(); ++j) {
    const auto unit = squash(hidden_sums[j]);
    errors[j] = unit * (1 - unit) * output_error * network.output_weights[j];
  }
  return errors;
}

Network random_network(std::size_t inputs, std::size_t padded) {
  std::mt19937 random(11);
  const auto number = [&] { return static_cast<float>(random() >> 8) / 16777216.0F; };  // 0 to 1
  const auto scale = 2 / std::sqrt(static_cast<float>(inputs));
  Network network{std::vector<float>(padded + 1), std::vector<float>((padded + 1) * k_row),
                  std::vector<float>((padded + 1) * k_row), std::vector<float>(k_row)};
  network.inputs[0] = 1;
  for (std::size_t i = 1; i <= inputs; ++i) network.inputs[i] = number();
  for (auto& weight : network.weights) weight = (number() - 0.5F) * scale;
  for (auto& change : network.changes) change = (number() - 0.5F) * scale;
  for (auto& weight : network.output_weights) weight = number();
  return network;
}

class Backprop final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "backprop"; }
  [[nodiscard]] std::string_view title() const override { return "Training step of a neural network"; }
  [[nodiscard]] std::string_view source() const override { return "Rodinia: Che et al., IISWC 2009"; }
  // Inputs.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{{"test", {1000}, ""}, {"paper", {65536}, "Rodinia's run script"}};
    return sizes;
  }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const auto inputs = static_cast<std::size_t>(numbers[0]);
    const auto ctas = static_cast<std::int32_t>((inputs + k_width - 1) / k_width);
    const auto padded = static_cast<std::size_t>(ctas) * k_width;
    const auto network = random_network(inputs, padded);

    auto input_cuda = device.array<float>("input_cuda", padded + 1);
    device.array<float>("output_hidden_cuda", k_row);  // no published kernel reads or writes it
    auto input_hidden_cuda = device.array<float>("input_hidden_cuda", network.weights.size());
    auto hidden_partial_sum = device.array<float>("hidden_partial_sum", static_cast<std::size_t>(ctas) * k_width);
    auto hidden_delta_cuda = device.array<float>("hidden_delta_cuda", k_row);
    auto input_prev_weights_cuda = device.array<float>("input_prev_weights_cuda", network.changes.size());
    std::ranges::copy(network.inputs, input_cuda.host().begin());
    std::ranges::copy(network.weights, input_hidden_cuda.host().begin());

    layer_forward(device, ctas, input_cuda, input_hidden_cuda, hidden_partial_sum);
    std::vector<double> sums(k_row);
    for (std::size_t j = 1; j < sums.size(); ++j) {
      sums[j] = network.weights[j];
      for (auto at = j - 1; at < hidden_partial_sum.size(); at += k_width)
        sums[j] += hidden_partial_sum.host()[at];
    }
    const auto errors = hidden_errors(sums, network);
    for (std::size_t j = 0; j < errors.size(); ++j) hidden_delta_cuda.host()[j] = static_cast<float>(errors[j]);
    std::ranges::copy(network.weights, input_hidden_cuda.host().begin());
    std::ranges::copy(network.changes, input_prev_weights_cuda.host().begin());
    adjust_weights(device, ctas, hidden_delta_cuda, input_cuda, input_hidden_cuda, input_prev_weights_cuda);

    return compare(network, inputs, sums, input_hidden_cuda, input_prev_weights_cuda);
  }

 private:
  static void layer_forward(Device& device, std::int32_t ctas, const Array<float>& input,
                            const Array<float>& weights, const Array<float>& partial_sum) {
    Shared<float> input_node(k_width);
    Shared<float> weight_matrix(k_threads);
    device.launch(
        {"layerforward", ctas, k_threads, 14, input_node.bytes() + weight_matrix.bytes()},
        [&](Thread& t) -> ThreadRun {
          const auto x = t.own(t.thread().needed() % k_width);
          const auto y = t.own(t.thread().needed() / k_width);
          const auto cell = fma(y, k_width, x);
          const auto index = fma(t.block(), k_row * k_width, fma(y, k_row, x)) + (1 + k_row);
          if (x == 0) t.write(input_node.span(), y, t.load(input, fma(t.block(), k_width, y) + 1));
          co_await t.barrier();
          t.write(weight_matrix.span(), cell, t.load(weights, index));
          co_await t.barrier();
          t.write(weight_matrix.span(), cell, t.read(weight_matrix.span(), cell) * t.read(input_node.span(), y));
          co_await t.barrier();
          for (std::int32_t rows = 2; rows <= k_width; rows *= 2) {
            if ((y & (rows - 1)) == 0)
              t.write(
                  weight_matrix.span(), cell,
                  t.read(weight_matrix.span(), cell) + t.read(weight_matrix.span(), cell + rows / 2 * k_width));
            co_await t.barrier();
          }
          t.store(weights, index, t.read(weight_matrix.span(), cell));
          co_await t.barrier();
          if (x == 0)
            t.store(partial_sum, fma(t.block(), k_width, y), t.read(weight_matrix.span(), fma(x, k_width, y)));
        });
  }

  // The published kernel writes a weight before it reads the inputs of the change again: the compiler cannot prove
  // that the arrays do not overlap, so both reads remain.
  static void adjust_weights(Device& device, std::int32_t ctas, const Array<float>& delta,
                             const Array<float>& input, const Array<float>& weights, const Array<float>& changes) {
    device.launch({"adjust_weights", ctas, k_threads, 16}, [&](Thread& t) -> ThreadRun {
      const auto x = t.own(t.thread().needed() % k_width);
      const auto y = t.own(t.thread().needed() / k_width);
      const auto index = fma(t.block(), k_row * k_width, fma(y, k_row, x)) + (1 + k_row);
      const auto unit = x + 1;
      const auto row = fma(t.block(), k_width, y) + 1;
      const auto weight = t.load(weights, index);
      const auto error = t.load(delta, unit);
      const auto value = t.load(input, row);
      const auto change = t.load(changes, index);
      t.store(weights, index, weight + fma(error * k_learning_rate, value, change * k_momentum));
      const auto error_again = t.load(delta, unit);
      const auto value_again = t.load(input, row);
      const auto change_again = t.load(changes, index);
      t.store(changes, index, fma(error_again * k_learning_rate, value_again, change_again * k_momentum));
      co_await t.barrier();
      if (y == 0 && t.block() == 0) {
        const auto bias = t.load(weights, unit);
        const auto bias_error = t.load(delta, unit);
        const auto bias_change = t.load(changes, unit);
        t.store(weights, unit, bias + fma(bias_error, k_learning_rate, bias_change * k_momentum));
        const auto bias_error_again = t.load(delta, unit);
        const auto bias_change_again = t.load(changes, unit);
        t.store(changes, unit, fma(bias_error_again, k_learning_rate, bias_change_again * k_momentum));
      }
    });
  }

  // Compares with the same step in double precision, input by input. Weights differ by the rounding of two or
  // three operations and of the hidden units' errors; differences are relative to typical weights.
  static std::string compare(const Network& network, std::size_t inputs, const std::vector<double>& sums,
                             const Array<float>& weights, const Array<float>& changes) {
    std::vector<double> expected_sums(k_row);
    for (std::size_t j = 1; j < k_row; ++j)
      for (std::size_t i = 0; i <= inputs; ++i)
        expected_sums[j] += double{network.inputs[i]} * double{network.weights[i * k_row + j]};
    Comparison comparison;
    for (std::size_t j = 1; j < k_row; ++j) comparison.add(sums[j], expected_sums[j], 0.1);
    const auto errors = hidden_errors(expected_sums, network);
    const auto floor = 1 / std::sqrt(static_cast<double>(inputs));
    for (std::size_t i = 0; i <= inputs; ++i)
      for (std::size_t j = 0; j < k_row; ++j) {
        const auto at = i * k_row + j;
        const auto before = double{network.changes[at]};
        // No kernel uses unit 0 of the hidden layer.
        const auto change = j == 0 ? before : 0.3 * errors[j] * double{network.inputs[i]} + 0.3 * before;
        comparison.add(double{changes.host()[at]}, change, floor);
        comparison.add(double{weights.host()[at]}, double{network.weights[at]} + (j == 0 ? 0 : change), floor);
      }
    return comparison.verdict("sums, weights and changes", 5e-6);
  }
};

}  // namespace

const GpuProgram& backprop_program() {
  static const Backprop program;
  return program;
}

}  // namespace terrace::gpu_sim
