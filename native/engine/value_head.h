// From the last layer's output to a critic's values, their loss and back.
#pragma once
#include "head.h"

namespace troupe {

class ValueHead {
 public:
  // Like LossHead::run, for a batch whose policies are all critics. The gradient goes to the segments' heads, the final
  // norm and `stream`.
  void run(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream, const Loss* loss,
           float* d_stream, LossSums& total);
  size_t bytes() const;

 private:
  void evaluate(const Machine& machine, Model& model, const TrainingBatch& batch, const Segment& segment,
                const Loss* loss);
  void backward_segment(const Machine& machine, Model& model, const Segment& segment);

  AlignedBuffer<float> inverse_rms_, normed_, d_normed_, thread_sums_;
  std::vector<RowSums> sums_;  // slope: −∂loss/∂value, summed over the row's targets
};

}  // namespace troupe
