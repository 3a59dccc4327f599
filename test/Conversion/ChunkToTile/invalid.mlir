// RUN: not recur-opt %s --convert-chunk-to-tile=dtype=f64 2>&1 | FileCheck %s
// CHECK: the dtype is f32, bf16 or f16, not 'f64'
chunk.program @empty {} chunk 8 {
}
