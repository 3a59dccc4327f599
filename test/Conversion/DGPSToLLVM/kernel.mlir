// RUN: recur-opt %s --convert-dgps-to-llvm -split-input-file | FileCheck %s
// RUN: recur-opt %s --dgps-store=types=bf16 --convert-dgps-to-llvm -split-input-file | FileCheck %s --check-prefix=BF16
// RUN: recur-opt %s --dgps-store=types=f16 --convert-dgps-to-llvm=symbol=other -split-input-file | FileCheck %s --check-prefix=F16

// One loop over tokens and one over elements each for the input, the sum with its product, the output. The state is a vector: it lies on the
// stack, and goes to the caller in the end. There is no scratch memory.
// CHECK-LABEL: llvm.func @mean(%arg0: !llvm.ptr, %arg1: i64, %arg2: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}) attributes {passthrough = ["recur-scalar-loops"]} {
// CHECK: llvm.alloca %{{.*}} x !llvm.array<8 x f32> {alignment = 64 : i64}
// CHECK: scf.if
// CHECK: "llvm.intr.memmove"(%{{.*}}) <{arg_attrs = [{llvm.align = 4 : i64}, {llvm.align = 4 : i64}, {}], isVolatile = false}>
// CHECK: } else {
// CHECK: "llvm.intr.memset"
// CHECK: scf.for %[[TOKEN:[a-z0-9]+]] = %{{.*}} to %arg1 step %{{.*}} : i64 {
// CHECK: arith.muli %[[TOKEN]], %{{.*}} overflow<nsw> : i64
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}} fastmath<reassoc,contract> : f32
// CHECK-NOT: scf.for
// CHECK: arith.addf %[[PRODUCT]], %{{.*}} fastmath<reassoc,contract> : f32
// CHECK: scf.if
// CHECK: scf.for
// CHECK: "llvm.intr.memcpy"
// CHECK: llvm.return
// A vector in memory is read as it is written by the caller, and rounded by integers.
// BF16: llvm.load %{{.*}} : !llvm.ptr -> i16
// BF16: arith.shli %{{.*}} : i32
// BF16-NOT: bf16
// BF16: arith.trunci %{{.*}} : i32 to i16
// F16: llvm.func @other(
// F16: arith.extf %{{.*}} : f16 to f32
// F16: arith.truncf %{{.*}} : f32 to f16
dgps.recurrence @mean {} {
  %x = dgps.input "x" : <8>
  %h = dgps.state "h" : <8>
  %a = dgps.constant 0.9 : <scalar>
  %old = dgps.mul %a, %h : <scalar>, <8>
  %new = dgps.add %old, %x : <8>, <8>
  dgps.output "o" %new : <8>
  dgps.next %h, %new : <8>
}

// -----

// A state that is a matrix is updated in one pass, where it lies: what it is decayed to and what is added have no place. The
// scratch memory has room for it, for a caller that does not want it in the end.
// CHECK-LABEL: llvm.func @decayed({{.*}}llvm.dereferenceable = 128 : i64
// CHECK: %[[STATE:.*]] = arith.select %{{.*}}, %{{.*}}, %arg2 : !llvm.ptr
// CHECK: scf.for {{.*}} to %arg1
// The update.
// CHECK: scf.for
// CHECK: llvm.getelementptr inbounds %[[STATE]]
// CHECK: llvm.getelementptr inbounds %[[STATE]]
// CHECK: llvm.store
// CHECK-NOT: llvm.intr.memcpy
// The read is a sum over each row.
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: scf.yield %{{.*}} : f32
// CHECK-NOT: llvm.intr.memcpy
dgps.recurrence @decayed {} {
  %q = dgps.input "q" : <8>
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %g = dgps.input "g" : <scalar>
  %S = dgps.state "S" : <4x8>
  %a = dgps.exp %g : <scalar>
  %old = dgps.mul %a, %S : <scalar>, <4x8>
  %new = dgps.outer %v, %k : <4>, <8>
  %S1 = dgps.add %old, %new : <4x8>, <4x8>
  %o = dgps.matvec %S1, %q : <4x8>, <8>
  dgps.output "o" %o : <4>
  dgps.next %S, %S1 : <4x8>
}

// -----

// What the state was is read after the update: the new one has a place of its own, and is copied at the token's end.
// CHECK-LABEL: llvm.func @late({{.*}}llvm.dereferenceable = 256 : i64
// CHECK: "llvm.intr.memcpy"
dgps.recurrence @late {} {
  %k = dgps.input "k" : <8>
  %v = dgps.input "v" : <4>
  %S = dgps.state "S" : <4x8>
  %new = dgps.outer %v, %k : <4>, <8>
  %S1 = dgps.add %S, %new : <4x8>, <4x8>
  %o = dgps.matvec %S, %k : <4x8>, <8>
  dgps.output "o" %o : <4>
  dgps.next %S, %S1 : <4x8>
}
