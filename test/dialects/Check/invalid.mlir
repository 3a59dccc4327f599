// RUN: recur-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{expected a list of 2, as before}}
check.run @sum (x = [[1, 2], [3]]) gives (o = [1])

// -----

// expected-error @+1 {{expected a list, as before}}
check.run @sum (x = [[1, 2], 3]) gives (o = [1])

// -----

// expected-error @+1 {{expected a number, as before}}
check.run @sum (x = [1, [3]]) gives (o = [1])

// -----

// expected-error @+1 {{expected floating point literal}}
check.run @sum (x = [one]) gives (o = [1])

// -----

// expected-error @+1 {{'check.run' op expects a name for every array, or for none}}
check.run @sum (x = [1], [2]) gives (o = [1])

// -----

// expected-error @+1 {{'check.run' op expects three sizes: of the batch, of heads and of groups of heads}}
check.run @sum sizes [1, 2] (x = [1]) gives (o = [1])

// -----

// expected-error @+1 {{'check.run' op expects either arrays that the program gives or the message that it fails with}}
check.run @sum (x = [1]) gives ()

// -----

// expected-error @+1 {{'check.run' op expects arrays of float64}}
"check.run"() <{program = @sum, given_names = ["x"], given = [1 : i64], wanted_names = [], wanted = [], message = "text"}> : () -> ()
