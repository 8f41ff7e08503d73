// oneDNN's matrix product on the data the kernels get: float32 in memory. In bfloat16 the operands are converted on
// every run, as the kernels convert them; the right operand of the forward product (a weight) is brought into oneDNN's
// own layout beforehand.
#pragma once
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

namespace troupe::bench {

class OneDnnProduct {
 public:
  // forward: C[m × n] = A[m × k]·B[n × k]ᵀ. weight gradient: C[m × n] += A[k × m]ᵀ·B[k × n].
  OneDnnProduct(float* a, float* b, float* c, int m, int n, int k, bool weight_gradient, bool pairs, int threads)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using memory = dnnl::memory;
    omp_set_num_threads(threads);
    const auto full = memory::data_type::f32, type = pairs ? memory::data_type::bf16 : full;
    const memory::dims left{m, k}, right{k, n}, out{m, n};
    const memory::dims left_strides = weight_gradient ? memory::dims{1, m} : memory::dims{k, 1};
    const memory::dims right_strides = weight_gradient ? memory::dims{n, 1} : memory::dims{1, k};
    source_ = memory(memory::desc(left, full, left_strides), engine_, a);
    weights_ = memory(memory::desc(right, full, right_strides), engine_, b);
    target_ = memory(memory::desc(out, full, memory::dims{n, 1}), engine_, c);
    const memory::desc any_left = pairs ? memory::desc(left, type, memory::format_tag::any) : source_.get_desc();
    const bool as_it_is = weight_gradient && !pairs;
    const memory::desc any_right = as_it_is ? weights_.get_desc() : memory::desc(right, type, memory::format_tag::any);
    dnnl::primitive_attr attributes;
    if (weight_gradient) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::desc what(any_left, any_right, target_.get_desc());
    const dnnl::matmul::primitive_desc description(what, attributes, engine_);
    product_ = dnnl::matmul(description);
    left_ = prepare(source_, description.src_desc(), convert_left_, convert_left_each_time_);
    right_ = prepare(weights_, description.weights_desc(), convert_right_, convert_right_each_time_);
    convert_right_each_time_ = convert_right_each_time_ && weight_gradient;
    if (right_.get_data_handle() != weights_.get_data_handle()) convert_right_.execute(stream_, weights_, right_);
    stream_.wait();
  }

  void run() {
    if (convert_left_each_time_) convert_left_.execute(stream_, source_, left_);
    if (convert_right_each_time_) convert_right_.execute(stream_, weights_, right_);
    product_.execute(stream_, {{DNNL_ARG_SRC, left_}, {DNNL_ARG_WEIGHTS, right_}, {DNNL_ARG_DST, target_}});
    stream_.wait();
  }

 private:
  dnnl::memory prepare(dnnl::memory& from, const dnnl::memory::desc& to, dnnl::reorder& convert, bool& needed) {
    needed = !(from.get_desc() == to);
    if (!needed) return from;
    dnnl::memory converted(to, engine_);
    convert = dnnl::reorder(from, converted);
    return converted;
  }
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory source_, weights_, target_, left_, right_;
  dnnl::reorder convert_left_, convert_right_;
  bool convert_left_each_time_ = false, convert_right_each_time_ = false;
  dnnl::matmul product_;
};

}  // namespace troupe::bench
