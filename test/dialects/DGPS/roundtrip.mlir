// RUN: recur-opt %s | recur-opt | FileCheck %s --match-full-lines --strict-whitespace
// RUN: recur-opt %s -mlir-print-op-generic | recur-opt | FileCheck %s --match-full-lines --strict-whitespace

//      CHECK:module {
// CHECK-NEXT:  dgps.recurrence @every_op {K = 3 : i64, V = 2 : i64} {
dgps.recurrence @every_op {K = 3 : i64, V = 2 : i64} {
  // CHECK-NEXT:    %q = dgps.input "q" shared : <3>
  %q = dgps.input "q" shared : <3>
  // CHECK-NEXT:    %k = dgps.input "k" : <2x3>
  %k = dgps.input "k" : <2x3>
  // CHECK-NEXT:    %v = dgps.input "v" : <2>
  %v = dgps.input "v" : <2>
  // CHECK-NEXT:    %g = dgps.input "g" : <scalar>
  %g = dgps.input "g" : <scalar>
  // CHECK-NEXT:    %mu = dgps.param "mu" : <3>
  %mu = dgps.param "mu" : <3>
  // CHECK-NEXT:    %S = dgps.state "S" : <2x3>
  %S = dgps.state "S" : <2x3>
  // CHECK-NEXT:    %G = dgps.state "G" : <3x3>
  %G = dgps.state "G" : <3x3>
  // CHECK-NEXT:    %Z = dgps.state "Z" start %mu : <3>
  %Z = dgps.state "Z" start %mu : <3>
  // CHECK-NEXT:    %0 = dgps.constant 5.000000e-01 : <scalar>
  %0 = dgps.constant 0.5 : <scalar>
  // CHECK-NEXT:    %1 = dgps.constant 1.000000e+00 : <3>
  %1 = dgps.constant 1.0 : <3>
  // CHECK-NEXT:    %2 = dgps.broadcast %g : <3>
  %2 = dgps.broadcast %g : <3>
  // CHECK-NEXT:    %3 = dgps.neg %g : <scalar>
  %3 = dgps.neg %g : <scalar>
  // CHECK-NEXT:    %4 = dgps.exp %3 : <scalar>
  %4 = dgps.exp %3 : <scalar>
  // CHECK-NEXT:    %5 = dgps.expm1 %3 : <scalar>
  %5 = dgps.expm1 %3 : <scalar>
  // CHECK-NEXT:    %6 = dgps.abs %q : <3>
  %6 = dgps.abs %q : <3>
  // CHECK-NEXT:    %7 = dgps.sqrt %6 : <3>
  %7 = dgps.sqrt %6 : <3>
  // CHECK-NEXT:    %8 = dgps.log %7 : <3>
  %8 = dgps.log %7 : <3>
  // CHECK-NEXT:    %9 = dgps.sigmoid %8 : <3>
  %9 = dgps.sigmoid %8 : <3>
  // CHECK-NEXT:    %10 = dgps.tanh %9 : <3>
  %10 = dgps.tanh %9 : <3>
  // CHECK-NEXT:    %11 = dgps.softplus %10 : <3>
  %11 = dgps.softplus %10 : <3>
  // CHECK-NEXT:    %12 = dgps.elu %11 : <3>
  %12 = dgps.elu %11 : <3>
  // CHECK-NEXT:    %13 = dgps.stop %12 : <3>
  %13 = dgps.stop %12 : <3>
  // CHECK-NEXT:    %14 = dgps.add %12, %mu : <3>, <3>
  %14 = dgps.add %12, %mu : <3>, <3>
  // CHECK-NEXT:    %15 = dgps.sub %14, %g : <3>, <scalar>
  %15 = dgps.sub %14, %g : <3>, <scalar>
  // CHECK-NEXT:    %16 = dgps.mul %g, %15 : <scalar>, <3>
  %16 = dgps.mul %g, %15 : <scalar>, <3>
  // CHECK-NEXT:    %17 = dgps.div %16, %0 : <3>, <scalar>
  %17 = dgps.div %16, %0 : <3>, <scalar>
  // CHECK-NEXT:    %18 = dgps.max %17, %1 : <3>, <3>
  %18 = dgps.max %17, %1 : <3>, <3>
  // CHECK-NEXT:    %19 = dgps.min %18, %2 : <3>, <3>
  %19 = dgps.min %18, %2 : <3>, <3>
  // CHECK-NEXT:    %20 = dgps.extract %k[1] : <2x3>
  %20 = dgps.extract %k[1] : <2x3>
  // CHECK-NEXT:    %21 = dgps.outer %v, %20 : <2>, <3>
  %21 = dgps.outer %v, %20 : <2>, <3>
  // CHECK-NEXT:    %22 = dgps.dot %q, %20 : <3>
  %22 = dgps.dot %q, %20 : <3>
  // CHECK-NEXT:    %23 = dgps.sum %21 : <2x3>
  %23 = dgps.sum %21 : <2x3>
  // CHECK-NEXT:    %24 = dgps.softmax %19 : <3>
  %24 = dgps.softmax %19 : <3>
  // CHECK-NEXT:    %25 = dgps.matvec %S, %24 : <2x3>, <3>
  %25 = dgps.matvec %S, %24 : <2x3>, <3>
  // CHECK-NEXT:    %26 = dgps.vecmat %25, %S : <2>, <2x3>
  %26 = dgps.vecmat %25, %S : <2>, <2x3>
  // CHECK-NEXT:    %27 = dgps.scale_cols %S, %26 : <2x3>, <3>
  %27 = dgps.scale_cols %S, %26 : <2x3>, <3>
  // CHECK-NEXT:    %28 = dgps.scale_rows %v, %27 : <2>, <2x3>
  %28 = dgps.scale_rows %v, %27 : <2>, <2x3>
  // CHECK-NEXT:    %29 = dgps.cg %G, %q ridge %mu iterations 4 : <3x3>, <3>, <3>
  %29 = dgps.cg %G, %q ridge %mu iterations 4 : <3x3>, <3>, <3>
  // CHECK-NEXT:    %30 = dgps.cg %G, %29 ridge %g iterations 1 by_steps : <3x3>, <3>, <scalar>
  %30 = dgps.cg %G, %29 ridge %g iterations 1 by_steps : <3x3>, <3>, <scalar>
  // CHECK-NEXT:    %31 = dgps.slice %G[1 for 2] : <3x3>
  %31 = dgps.slice %G[1 for 2] : <3x3>
  // CHECK-NEXT:    %32 = dgps.concat %31, %30 : !dgps.real<2x3>, !dgps.real<3> to <3x3>
  %32 = dgps.concat %31, %30 : !dgps.real<2x3>, !dgps.real<3> to <3x3>
  // CHECK-NEXT:    dgps.output "o" %30 : <3>
  dgps.output "o" %30 : <3>
  // CHECK-NEXT:    dgps.output "p" %28 : <2x3>
  dgps.output "p" %28 : <2x3>
  // CHECK-NEXT:    dgps.next %S, %21 : <2x3>
  dgps.next %S, %21 : <2x3>
  // CHECK-NEXT:    dgps.next %G, %G : <3x3>
  dgps.next %G, %G : <3x3>
  // CHECK-NEXT:    dgps.next %Z, %Z : <3>
  dgps.next %Z, %Z : <3>
}
// CHECK-NEXT:  }

// CHECK-NEXT:  dgps.recurrence @stored {} {
dgps.recurrence @stored {} {
  // CHECK-NEXT:    %x = dgps.input "x" shared stored bf16 : <scalar>
  %x = dgps.input "x" shared stored bf16 : <scalar>
  // CHECK-NEXT:    %n = dgps.input "n" stored i32 : <scalar>
  %n = dgps.input "n" stored i32 : <scalar>
  // CHECK-NEXT:    %a = dgps.param "a" stored f16 : <scalar>
  %a = dgps.param "a" stored f16 : <scalar>
  // CHECK-NEXT:    %h = dgps.state "h" start %a stored bf16 : <scalar>
  %h = dgps.state "h" start %a stored bf16 : <scalar>
  // CHECK-NEXT:    dgps.output "y" %x stored f16 : <scalar>
  dgps.output "y" %x stored f16 : <scalar>
  // CHECK-NEXT:    dgps.next %h, %x : <scalar>
  dgps.next %h, %x : <scalar>
}
// CHECK-NEXT:  }


// CHECK-NEXT:  dgps.recurrence @choices {} {
dgps.recurrence @choices {} {
  // CHECK-NEXT:    %x = dgps.input "x" : <3>
  %x = dgps.input "x" : <3>
  // CHECK-NEXT:    %c = dgps.input "c" : <scalar>
  %c = dgps.input "c" : <scalar>
  // CHECK-NEXT:    %0 = dgps.erf %x : <3>
  %0 = dgps.erf %x : <3>
  // CHECK-NEXT:    %1 = dgps.floor %0 : <3>
  %1 = dgps.floor %0 : <3>
  // CHECK-NEXT:    %2 = dgps.select %c, %1, %c : <scalar>, <3>, <scalar>
  %2 = dgps.select %c, %1, %c : <scalar>, <3>, <scalar>
  // CHECK-NEXT:    %3 = dgps.loop %2(%c : !dgps.real<scalar>) iterations 30 : <3> {
  // CHECK-NEXT:    ^bb0(%arg0: !dgps.real<3>, %arg1: !dgps.real<scalar>):
  // CHECK-NEXT:      %4 = dgps.mul %arg1, %arg0 : <scalar>, <3>
  // CHECK-NEXT:      dgps.yield %4 : !dgps.real<3>
  // CHECK-NEXT:    }
  %3 = dgps.loop %2 (%c : !dgps.real<scalar>) iterations 30 : <3> {
  ^bb0(%y: !dgps.real<3>, %c1: !dgps.real<scalar>):
    %4 = dgps.mul %c1, %y : <scalar>, <3>
    dgps.yield %4 : !dgps.real<3>
  }
  // CHECK-NEXT:    dgps.output "o" %3 : <3>
  dgps.output "o" %3 : <3>
  // CHECK-NEXT:  }
}
// CHECK-NEXT:}
