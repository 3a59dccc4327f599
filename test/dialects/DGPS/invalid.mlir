// RUN: recur-opt %s -split-input-file -verify-diagnostics

dgps.recurrence @rank {} {
  // expected-error @+1 {{a dgps value is a scalar, a vector or a matrix, but this shape has rank 3}}
  %x = dgps.input "x" : <2x3x4>
}

// -----

dgps.recurrence @size {} {
  // expected-error @+1 {{each size of a shape must be at least 1, but one is 0}}
  %x = dgps.input "x" : <2x0>
}

// -----

dgps.recurrence @foreign {} {
  // expected-error @+1 {{'builtin.unrealized_conversion_cast' op does not belong in a dgps.recurrence, which holds dgps ops only}}
  %0 = builtin.unrealized_conversion_cast to !dgps.real<scalar>
}

// -----

dgps.recurrence @twice {} {
  // expected-note @+1 {{first declared here}}
  %x = dgps.input "x" : <scalar>
  // expected-error @+1 {{'dgps.param' op declares 'x' a second time}}
  %y = dgps.param "x" : <scalar>
}

// -----

dgps.recurrence @outputs {} {
  %x = dgps.input "x" : <scalar>
  // expected-note @+1 {{first declared here}}
  dgps.output "o" %x : <scalar>
  // expected-error @+1 {{'dgps.output' op declares 'o' a second time}}
  dgps.output "o" %x : <scalar>
}

// -----

// An output may have the name of an input.
dgps.recurrence @separate_name_spaces {} {
  %x = dgps.input "x" : <scalar>
  dgps.output "x" %x : <scalar>
}

// -----

dgps.recurrence @no_next {} {
  // expected-error @+1 {{'dgps.state' op has no dgps.next that says what 'S' becomes}}
  %S = dgps.state "S" : <4>
}

// -----

dgps.recurrence @two_nexts {} {
  %S = dgps.state "S" : <4>
  // expected-note @+1 {{first updated here}}
  dgps.next %S, %S : <4>
  // expected-error @+1 {{'dgps.next' op updates state 'S' a second time}}
  dgps.next %S, %S : <4>
}

// -----

dgps.recurrence @next_of_input {} {
  %x = dgps.input "x" : <4>
  // expected-error @+1 {{'dgps.next' op expects the result of a dgps.state as its first operand}}
  dgps.next %x, %x : <4>
}

// -----

// expected-error @+1 {{'dgps.input' op expects parent op 'dgps.recurrence'}}
%x = dgps.input "x" : <4>

// -----

dgps.recurrence @shapes {} {
  %x = dgps.input "x" : <4>
  %y = dgps.input "y" : <5>
  // expected-error @+1 {{elementwise operands must have equal shapes or one must be a scalar, but they are '!dgps.real<4>' and '!dgps.real<5>'}}
  %z = dgps.add %x, %y : <4>, <5>
}

// -----

dgps.recurrence @matvec {} {
  %x = dgps.input "x" : <4>
  %S = dgps.input "S" : <4x5>
  // expected-error @+1 {{the matrix '!dgps.real<4x5>' has 5 columns, but the vector '!dgps.real<4>' has 4 elements}}
  %z = dgps.matvec %S, %x : <4x5>, <4>
}

// -----

dgps.recurrence @vecmat {} {
  %x = dgps.input "x" : <5>
  %S = dgps.input "S" : <4x5>
  // expected-error @+1 {{the matrix '!dgps.real<4x5>' has 4 rows, but the vector '!dgps.real<5>' has 5 elements}}
  %z = dgps.vecmat %x, %S : <5>, <4x5>
}

// -----

dgps.recurrence @scale_cols {} {
  %x = dgps.input "x" : <4>
  %S = dgps.input "S" : <4x5>
  // expected-error @+1 {{the matrix '!dgps.real<4x5>' has 5 columns, but the vector '!dgps.real<4>' has 4 elements}}
  %z = dgps.scale_cols %S, %x : <4x5>, <4>
}

// -----

dgps.recurrence @scale_rows {} {
  %x = dgps.input "x" : <5>
  %S = dgps.input "S" : <4x5>
  // expected-error @+1 {{the matrix '!dgps.real<4x5>' has 4 rows, but the vector '!dgps.real<5>' has 5 elements}}
  %z = dgps.scale_rows %x, %S : <5>, <4x5>
}

// -----

dgps.recurrence @outer {} {
  %x = dgps.input "x" : <5>
  %S = dgps.input "S" : <4x5>
  // expected-error @+1 {{'dgps.outer' op operand #0 must be a vector, but got '!dgps.real<4x5>'}}
  %z = dgps.outer %S, %x : <4x5>, <5>
}

// -----

dgps.recurrence @extract_of_scalar {} {
  %x = dgps.input "x" : <scalar>
  // expected-error @+1 {{a scalar has no elements to extract}}
  %z = dgps.extract %x[0] : <scalar>
}

// -----

dgps.recurrence @extract_outside {} {
  %x = dgps.input "x" : <2x3>
  // expected-error @+1 {{index 2 is outside of '!dgps.real<2x3>', whose first size is 2}}
  %z = dgps.extract %x[2] : <2x3>
}

// -----

dgps.recurrence @extract_before {} {
  %x = dgps.input "x" : <2x3>
  // expected-error @+1 {{index -1 is outside of '!dgps.real<2x3>', whose first size is 2}}
  %z = dgps.extract %x[-1] : <2x3>
}

// -----

dgps.recurrence @slice_of_scalar {} {
  %x = dgps.input "x" : <scalar>
  // expected-error @+1 {{a scalar has no elements to slice}}
  %z = dgps.slice %x[0 for 1] : <scalar>
}

// -----

dgps.recurrence @empty_slice {} {
  %x = dgps.input "x" : <3>
  // expected-error @+1 {{a slice has at least one element, but the size of this one is 0}}
  %z = dgps.slice %x[0 for 0] : <3>
}

// -----

dgps.recurrence @slice_outside {} {
  %x = dgps.input "x" : <2x3>
  // expected-error @+1 {{2 from 1 on are not within '!dgps.real<2x3>', whose first size is 2}}
  %z = dgps.slice %x[1 for 2] : <2x3>
}

// -----

dgps.recurrence @slice_before {} {
  %x = dgps.input "x" : <3>
  // expected-error @+1 {{2 from -1 on are not within '!dgps.real<3>', whose first size is 3}}
  %z = dgps.slice %x[-1 for 2] : <3>
}

// -----

dgps.recurrence @concat_of_nothing {} {
  // expected-error @+1 {{'dgps.concat' op needs at least one operand}}
  %z = "dgps.concat"() : () -> !dgps.real<3>
}

// -----

dgps.recurrence @concat_to_scalar {} {
  %x = dgps.input "x" : <scalar>
  // expected-error @+1 {{'dgps.concat' op gives a vector or a matrix, but its result is a scalar}}
  %z = dgps.concat %x : !dgps.real<scalar> to <scalar>
}

// -----

dgps.recurrence @concat_of_other_columns {} {
  %x = dgps.input "x" : <2x3>
  %y = dgps.input "y" : <2>
  // expected-error @+1 {{'dgps.concat' op cannot make '!dgps.real<2>' a part of '!dgps.real<3x3>'}}
  %z = dgps.concat %x, %y : !dgps.real<2x3>, !dgps.real<2> to <3x3>
}

// -----

dgps.recurrence @concat_of_matrix {} {
  %x = dgps.input "x" : <2x3>
  // expected-error @+1 {{'dgps.concat' op cannot make '!dgps.real<2x3>' a part of '!dgps.real<6>'}}
  %z = dgps.concat %x : !dgps.real<2x3> to <6>
}

// -----

dgps.recurrence @concat_of_too_few {} {
  %x = dgps.input "x" : <2>
  // expected-error @+1 {{'dgps.concat' op has 4 elements in its operands, but '!dgps.real<5>' has 5}}
  %z = dgps.concat %x, %x : !dgps.real<2>, !dgps.real<2> to <5>
}

// -----

dgps.recurrence @concat_of_too_many_rows {} {
  %x = dgps.input "x" : <2>
  // expected-error @+1 {{'dgps.concat' op has 2 rows in its operands, but '!dgps.real<1x2>' has 1}}
  %z = dgps.concat %x, %x : !dgps.real<2>, !dgps.real<2> to <1x2>
}

// -----

dgps.recurrence @cg_square {} {
  %x = dgps.input "x" : <3>
  %G = dgps.input "G" : <2x3>
  %r = dgps.input "r" : <scalar>
  // expected-error @+1 {{conjugate gradients need a square matrix, but this one is '!dgps.real<2x3>'}}
  %z = dgps.cg %G, %x ridge %r iterations 3 : <2x3>, <3>, <scalar>
}

// -----

dgps.recurrence @cg_ridge {} {
  %x = dgps.input "x" : <3>
  %G = dgps.input "G" : <3x3>
  %r = dgps.input "r" : <2>
  // expected-error @+1 {{the ridge must be a scalar or have the vector's shape '!dgps.real<3>', but it is '!dgps.real<2>'}}
  %z = dgps.cg %G, %x ridge %r iterations 3 : <3x3>, <3>, <2>
}

// -----

dgps.recurrence @cg_iterations {} {
  %x = dgps.input "x" : <3>
  %G = dgps.input "G" : <3x3>
  // expected-error @+1 {{at least one iteration is needed}}
  %z = dgps.cg %G, %x ridge %x iterations 0 : <3x3>, <3>, <3>
}

// -----

dgps.recurrence @loop_of_a_matrix {} {
  %G = dgps.input "G" : <3x3>
  // expected-error @+1 {{'dgps.loop' op goes from step to step with a scalar or a vector, but this is '!dgps.real<3x3>'}}
  %y = dgps.loop %G iterations 2 : <3x3> {
  ^bb0(%x: !dgps.real<3x3>):
    dgps.yield %x : !dgps.real<3x3>
  }
}

// -----

dgps.recurrence @loop_iterations {} {
  %a = dgps.input "a" : <3>
  // expected-error @+1 {{'dgps.loop' op needs at least one iteration}}
  %y = dgps.loop %a iterations 0 : <3> {
  ^bb0(%x: !dgps.real<3>):
    dgps.yield %x : !dgps.real<3>
  }
}

// -----

dgps.recurrence @loop_arguments {} {
  %a = dgps.input "a" : <3>
  // expected-error @+1 {{'dgps.loop' op must have a region whose arguments have the types of its operands}}
  %y = dgps.loop %a (%a : !dgps.real<3>) iterations 2 : <3> {
  ^bb0(%x: !dgps.real<3>):
    dgps.yield %x : !dgps.real<3>
  }
}

// -----

dgps.recurrence @loop_yield {} {
  %a = dgps.input "a" : <3>
  %y = dgps.loop %a iterations 2 : <3> {
  ^bb0(%x: !dgps.real<3>):
    %s = dgps.sum %x : <3>
    // expected-error @+1 {{'dgps.yield' op must give a value of the loop's type '!dgps.real<3>'}}
    dgps.yield %s : !dgps.real<scalar>
  }
}

// -----

dgps.recurrence @loop_makes_a_matrix {} {
  %a = dgps.input "a" : <3>
  %y = dgps.loop %a iterations 2 : <3> {
  ^bb0(%x: !dgps.real<3>):
    // expected-error @+1 {{'dgps.outer' op is in a loop, where each op gives a scalar or a vector}}
    %m = dgps.outer %x, %x : <3>, <3>
    dgps.yield %x : !dgps.real<3>
  }
}

// -----

dgps.recurrence @loop_takes_a_matrix {} {
  %a = dgps.input "a" : <3>
  %G = dgps.input "G" : <3x3>
  %y = dgps.loop %a (%G : !dgps.real<3x3>) iterations 2 : <3> {
  ^bb0(%x: !dgps.real<3>, %G1: !dgps.real<3x3>):
    // expected-error @+1 {{'dgps.sum' op takes a matrix in a loop, where only products with vectors and loops do}}
    %s = dgps.sum %G1 : <3x3>
    dgps.yield %x : !dgps.real<3>
  }
}

// -----

dgps.recurrence @start_of_an_input {} {
  // expected-note @+1 {{this is needed for the start}}
  %x = dgps.input "x" : <3>
  %p = dgps.param "p" : <scalar>
  %m = dgps.mul %p, %x : <scalar>, <3>
  // expected-error @+1 {{starts before the first token, which no input or state does}}
  %s = dgps.state "s" start %m : <3>
  dgps.next %s, %x : <3>
}

// -----

dgps.recurrence @start_of_another_type {} {
  %p = dgps.param "p" : <scalar>
  // expected-error @+1 {{'dgps.state' op failed to verify that the start has the type of the state}}
  %s = "dgps.state"(%p) {name = "s"} : (!dgps.real<scalar>) -> !dgps.real<3>
  dgps.next %s, %s : <3>
}

// -----

dgps.recurrence @typed {} {
  // expected-error @+1 {{'dgps.input' op attribute 'stored' failed to satisfy constraint: a type of data that is not f32: bf16, f16 or i32}}
  %x = dgps.input "x" stored f64 : <scalar>
}

// -----

dgps.recurrence @counted {} {
  %x = dgps.input "x" stored i32 : <scalar>
  // expected-error @+1 {{'dgps.output' op attribute 'stored' failed to satisfy constraint: a type of data that is not f32: bf16 or f16}}
  dgps.output "y" %x stored i32 : <scalar>
}

// -----

dgps.recurrence @choice {} {
  %x = dgps.input "x" : <4>
  %y = dgps.input "y" : <5>
  // expected-error @+1 {{the operands of a choice must have equal shapes or be scalars, but they are '!dgps.real<4>', '!dgps.real<5>' and '!dgps.real<4>'}}
  %z = dgps.select %x, %y, %x : <4>, <5>, <4>
}
