// RUN: recur-opt %s --chunk-store=types=bf16,g=f32,S=f16 | FileCheck %s
// RUN: not recur-opt %s --chunk-store=types=f64 2>&1 | FileCheck %s --check-prefix=F64
// F64: error: --dtype: unknown value 'f64'; known are f32, bf16, f16

// CHECK-LABEL: chunk.program @typed
chunk.program @typed {} chunk 4 backward {
  // CHECK: chunk.input "g" : tensor<4xf32>
  %g = chunk.input "g" : tensor<4xf32>
  // What says its type keeps it.
  // CHECK: chunk.param "mu" stored f16 : tensor<1xf32>
  %mu = chunk.param "mu" stored f16 : tensor<1xf32>
  // A cotangent and a gradient have the type of what they are of.
  // CHECK: chunk.input "cotangent.o" stored bf16 : tensor<4xf32>
  %o = chunk.input "cotangent.o" : tensor<4xf32>
  // CHECK: chunk.state "gradient.S" stored f16 : tensor<f32>
  %S = chunk.state "gradient.S" : tensor<f32>
  %all, %last = chunk.scan %S, %o decay log(%g : tensor<4xf32>) : tensor<f32>, tensor<4xf32>
  // CHECK: chunk.output "gradient.g" %{{.*}} : tensor<4xf32>
  chunk.output "gradient.g" %all : tensor<4xf32>
  chunk.next %S, %last : tensor<f32>
}
