// Recurrences beyond the examples: variants of decay, side, order, and several states.
#include "Understand.h"

using namespace recur;
using namespace recur::analysis;
using recur::test::Understood;

namespace {

const std::string vectors =
    "dim K, V\ninput q: [K], k: [K], v: [V], g: [K], h: [V], a: scalar, beta: scalar\nstate S: [V, K]\n";

TEST(Decay, SignAndRange) {
  auto decayOf = [](std::string expression) {
    Understood understood(vectors + "S = " + expression + " * S + outer(v, k)\noutput o = S @ q\noutput p = a + beta");
    const Decay &decay = understood.delta("S").keyDecay;
    return std::string(decay.log ? "log " + understood.print(decay.log) : "linear") +
           (decay.atMostOne ? ", at most one" : "");
  };
  EXPECT_EQ(decayOf("exp(a)"), "log a");
  EXPECT_EQ(decayOf("exp(-softplus(a))"), "log -softplus(a), at most one");
  EXPECT_EQ(decayOf("sigmoid(a)"), "log -softplus(-a), at most one");
  EXPECT_EQ(decayOf("(1 - sigmoid(a))"), "log -softplus(a), at most one");
  EXPECT_EQ(decayOf("exp(a) * sigmoid(beta)"), "log a - softplus(-beta)");
  EXPECT_EQ(decayOf("exp(-exp(a) * softplus(beta))"), "log -exp(a) * softplus(beta), at most one");
  EXPECT_EQ(decayOf("0.5"), "log -0.693147, at most one");
  EXPECT_EQ(decayOf("exp(-a * a)"), "log -a * a, at most one");
  EXPECT_EQ(decayOf("a"), "linear");
  EXPECT_EQ(decayOf("tanh(a)"), "linear");
  EXPECT_EQ(decayOf("(-0.5)"), "linear");
  EXPECT_EQ(decayOf("(1 - beta)"), "linear");
}

TEST(Decay, OfEachSide) {
  auto axisOf = [](std::string update) {
    return decayAxis(Understood(vectors + update + "\noutput o = S @ q").delta("S")).str();
  };
  EXPECT_EQ(axisOf("S = S + outer(v, k)"), "none");
  EXPECT_EQ(axisOf("S = S @ diag(g) + outer(v, k)"), "columns");
  EXPECT_EQ(axisOf("S = diag(h) @ S + outer(v, k)"), "rows");
  EXPECT_EQ(axisOf("S = diag(exp(h)) @ S @ diag(exp(g)) + outer(v, k)"), "rows and columns");
  EXPECT_EQ(axisOf("S = exp(outer(h, ones(K))) * S + outer(v, k)"), "rows");
  EXPECT_EQ(axisOf("S = exp(outer(h, ones(K)) + outer(ones(V), g)) * S + outer(v, k)"), "rows and columns");
  EXPECT_EQ(axisOf("S = (1 - a) * S + outer(v, k)"), "scalar");
  EXPECT_EQ(axisOf("S = S @ diag(1 - g) + outer(v, k)"), "columns");
}

TEST(Delta, ReadOfADecayWithSeveralTerms) {
  Understood understood(vectors + "S = (1 - a) * S\nS = S + beta * outer(v - S @ k, k)\noutput o = S @ q");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.steps.size(), 1u);
  EXPECT_EQ(form.steps[0].reads[0].point, (Point{true, 0}));
  EXPECT_EQ(understood.print(form.steps[0].reads[0].key), "k");
  EXPECT_EQ(understood.print(form.steps[0].reads[0].scale), "beta");
}

TEST(Delta, DecayBetweenWritesStaysWithTheEarlierWrite) {
  Understood understood(
      "dim K, V\ninput q: [K], k: [K], l: [K], v: [V], u: [V], g: scalar, h: scalar, b: scalar, c: scalar\n"
      "state S: [V, K]\nS = exp(g) * S\nS = S + b * outer(v - S @ k, k)\nS = exp(h) * S\n"
      "S = S + c * outer(u - S @ l, l)\noutput o = S @ q");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.steps.size(), 2u);
  EXPECT_EQ(understood.print(form.keyDecay.log), "g + h");
  EXPECT_EQ(understood.print(form.steps[0].gain), "exp(h) * b");
  EXPECT_EQ(understood.print(form.steps[0].reads[0].scale), "b");
  EXPECT_EQ(form.steps[0].reads[0].point, (Point{true, 0}));
  EXPECT_EQ(form.steps[1].reads[0].point, (Point{true, 1}));
  EXPECT_EQ(understood.interactions("S"), 6u);
}

TEST(Delta, ManySteps) {
  for (int steps : {1, 3, 4, 6, 12, 200}) {
    Understood understood("dim K, V, N = " + std::to_string(steps) +
                          "\ninput q: [K], k: [N, K], v: [N, V], b: [N]\nstate S: [V, K]\n"
                          "for j in 0..N { S = S + b[j] * outer(v[j] - S @ k[j], k[j]) }\noutput o = S @ q");
    const DeltaForm &form = understood.delta("S");
    ASSERT_EQ(form.steps.size(), size_t(steps));
    for (int n = 0; n < steps; ++n) {
      ASSERT_EQ(form.steps[n].reads.size(), 1u);
      EXPECT_EQ(form.steps[n].reads[0].point, (Point{true, unsigned(n)}));
    }
    EXPECT_EQ(understood.interactions("S"), size_t(steps * (steps + 1)));
  }
}

TEST(Delta, ManyStepsWithAScalarDecayBeforeEach) {
  const int steps = 20;
  Understood understood("dim K, V, N = " + std::to_string(steps) +
                        "\ninput q: [K], k: [N, K], v: [N, V], b: [N], g: [N]\nstate S: [V, K]\n"
                        "for j in 0..N { S = exp(g[j]) * S\n S = S + b[j] * outer(v[j] - S @ k[j], k[j]) }\n"
                        "output o = S @ q");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.steps.size(), size_t(steps));
  EXPECT_EQ(form.keyDecay.log->terms.size(), size_t(steps));
  for (int n = 0; n < steps; ++n) {
    EXPECT_EQ(form.steps[n].reads[0].point, (Point{true, unsigned(n)}));
    EXPECT_EQ(understood.print(form.steps[n].reads[0].scale), "b[" + std::to_string(n) + "]");
  }
  // What is written decays by all that comes after it.
  EXPECT_EQ(understood.print(form.steps[steps - 1].gain), "b[19]");
  EXPECT_EQ(understood.print(form.steps[steps - 2].gain), "exp(g[19]) * b[18]");
}

TEST(Delta, ADecayOfColumnsAfterManyStepsHasNoForm) {
  Understood understood("dim K, V, N = 12\ninput q: [K], k: [N, K], v: [N, V], b: [N], g: [K]\nstate S: [V, K]\n"
                        "for j in 0..N { S = S + b[j] * outer(v[j] - S @ k[j], k[j]) }\n"
                        "S = S @ diag(exp(g))\noutput o = S @ q");
  EXPECT_EQ(understood.classOf("S"), "general");
  EXPECT_EQ(understood.state("S").reason, "a decay of rows or columns comes after 7 writes that read the state");
  EXPECT_EQ(understood.state("S").needs, "that decay before the first write, or a scalar");
}

TEST(Delta, IterationsThatAreUnrolledStayShort) {
  // Conjugate gradients written out: products of quotients of reads of G, of which nothing can be taken apart.
  Understood understood(
      "dim K, V, N = 40\ninput q: [K], k: [K], v: [V], g: scalar\nparam ridge: [K]\nstate G: [K, K], S: [V, K]\n"
      "state x: [K], r: [K], p: [K], rr: scalar\nG = exp(g) * G + outer(k, k)\nS = exp(g) * S + outer(v, k)\n"
      "x = 0 * x\nr = q\np = q\nrr = dot(q, q)\nfor i in 0..N { let Ap = G @ p + ridge * p\n"
      "let al = rr / (dot(p, Ap) + 1e-12)\nx = x + al * p\nr = r - al * Ap\nlet rn = dot(r, r)\n"
      "p = r + rn / (rr + 1e-12) * p\nrr = rn }\noutput o = S @ x");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.readouts.size(), 1u);
  // The key is what the program computes, and not what its terms come to.
  dgps::StateOp x = understood.state("x").op;
  EXPECT_EQ(form.readouts[0].form.reads[0].key, understood.facts->getExpressions().of(x.getNext().getValue()));
  EXPECT_EQ(understood.print(form.readouts[0].form.reads[0].scale), "1");
}

TEST(Delta, AWriteUnderAKeyThatWasJustUpdatedIsOneStep) {
  Understood understood("dim K, V\ninput k: [K], y: scalar, beta: scalar, v: [V], c: scalar, d: scalar\n"
                        "state w: [K]\nstate S: [V, K]\nw = w + beta * (y - dot(w, k)) * k\n"
                        "S = S + outer(c * v - d * (S @ l2norm(w)), l2norm(w))\noutput o = S @ k");
  EXPECT_EQ(understood.delta("S").steps.size(), 1u);
}

TEST(Delta, AScalarDecayGoesWhereItKeepsTheOtherFromGrowing) {
  Understood understood("dim K, V\ninput g: [K], a: [V], e: [K], w: [V], x: [K]\nstate R: [V, K]\n"
                        "R = outer(a, e - w @ R) + R @ diag(exp(-0.6 * (1 - sigmoid(-g))))\noutput o = R @ x");
  const DeltaForm &form = understood.delta("R");
  EXPECT_EQ(form.orientation, Orientation::Left);
  EXPECT_TRUE(form.keyDecay.isAbsent());
  EXPECT_TRUE(form.valueDecay.atMostOne);
}

TEST(Delta, KeysThatAreSums) {
  Understood understood(vectors + "let f = elu(k) + 1\nlet r = elu(q) + 1\nS = exp(a) * S\n"
                                  "S = S + beta * outer(v - S @ f, f)\noutput o = S @ r");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.steps.size(), 1u);
  EXPECT_EQ(understood.print(form.steps[0].write), "f");
  EXPECT_EQ(form.readouts[0].form.reads[0].point, (Point{true, 1}));
  EXPECT_EQ(understood.print(form.readouts[0].form.reads[0].key), "r");
}

TEST(Delta, KeysWithACommonSummandAreTwoSteps) {
  Understood understood(vectors + "S = S + outer(v, elu(k) + 1) + beta * outer(h, elu(q) + 1)\noutput o = S @ g");
  ASSERT_EQ(understood.delta("S").steps.size(), 2u);
  EXPECT_EQ(understood.interactions("S"), 2u);
}

// What another state's read becomes when it is expanded has parts in common with other keys, and with itself.
TEST(Delta, KeysThatAreReadOfAnotherStateStayWhole) {
  const std::string read = "l2norm(P @ h)", shared = "(k + 0.3 * q)";
  const std::string oneStep = "P = sigmoid(a) * P + 0.2 * beta * outer(1 - sigmoid(q), v - g @ P) + sigmoid(a) * 0.3 * "
                              "outer(elu(k) + 1, v)\n";
  const std::string twoSteps =
      "P = diag(sigmoid(g)) @ P\nP = P + outer(" + shared + ", beta * v - 0.4 * a * " + shared + " @ P)\n";
  for (const auto &[update, other] : {std::pair(oneStep, std::string()),
                                      {twoSteps, " + 0.4 * beta * outer(silu(h) - S @ (g + 0.3 * k), g + 0.3 * k)"}}) {
    Understood understood(vectors + "state P: [K, V]\n" + update + "S = exp(a) * S + outer(v - 0.4 * beta * S @ " +
                          read + ", " + read + ")" + other + "\noutput o = S @ q");
    const DeltaForm &form = understood.delta("S");
    ASSERT_EQ(form.steps.size(), other.empty() ? 1u : 2u) << other;
    for (const MicroStep &step : form.steps) {
      ASSERT_EQ(step.reads.size(), 1u);
      EXPECT_EQ(step.reads[0].key, step.write);
    }
  }
}

TEST(Delta, OutputsAtEveryPoint) {
  Understood understood(vectors + "output p = S @ q\nS = exp(a) * S\noutput m = S @ q\n"
                                  "S = S + beta * outer(v - S @ k, k)\noutput o = S @ q");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.readouts.size(), 3u);
  EXPECT_EQ(form.readouts[0].form.reads[0].point, (Point{false, 0}));
  EXPECT_EQ(form.readouts[1].form.reads[0].point, (Point{true, 0}));
  EXPECT_EQ(form.readouts[2].form.reads[0].point, (Point{true, 1}));
}

TEST(Delta, EraseStrengthPerValueChannel) {
  Understood understood(vectors + "S = S + outer(h * (v - S @ k), k)\noutput o = S @ q");
  const Read &read = understood.delta("S").steps[0].reads[0];
  EXPECT_EQ(read.scale->axes, algebra::Axis::Row);
  EXPECT_EQ(understood.print(read.scale), "h");
}

TEST(Delta, ReadsFromBothSidesOfAStateThatDoesNotReadItself) {
  Understood understood(vectors + "S = S @ diag(exp(g)) + outer(v, k)\noutput o = S @ q\noutput p = h @ S");
  const DeltaForm &form = understood.delta("S");
  ASSERT_EQ(form.readouts.size(), 2u);
  EXPECT_FALSE(form.readouts[0].crossed);
  EXPECT_TRUE(form.readouts[1].crossed);
  EXPECT_EQ(form.readouts[1].form.reads[0].point, (Point{true, 1}));
  EXPECT_EQ(understood.print(form.readouts[1].form.reads[0].key), "h");
}

TEST(Delta, SharedKeysNeedOneInteraction) {
  EXPECT_EQ(Understood(vectors + "S = S + beta * outer(v - S @ k, k)\noutput o = S @ k").interactions("S"), 1u);
  EXPECT_EQ(Understood(vectors + "S = S + outer(v, k)\noutput o = S @ q\noutput p = S @ k").interactions("S"), 2u);
}

TEST(Delta, BonusIsLeftOver) {
  Understood understood(vectors + "output o = S @ q + dot(q, g * k) * v\nS = exp(a) * S + outer(v, k)");
  const Readout &readout = understood.delta("S").readouts[0];
  EXPECT_EQ(readout.form.reads[0].point, (Point{false, 0}));
  EXPECT_FALSE(readout.form.free->isZero());
}

TEST(Class, ForcedDown) {
  auto reasonOf = [](std::string update) {
    Understood understood(vectors + update);
    return understood.classOf("S") + ": " + understood.state("S").reason;
  };
  auto needsOf = [](std::string update) { return Understood(vectors + update).state("S").needs; };
  std::string tail = "\noutput o = S @ q\noutput p = a + beta";
  EXPECT_EQ(needsOf("S = tanh(S) + outer(v, k)" + tail), "an update that is linear in the state");
  EXPECT_EQ(needsOf("S = S + dot(v, S @ k) * outer(v, k)" + tail),
            "a write to each value channel that reads that channel alone");
  EXPECT_EQ(needsOf("S = S + outer(v - S @ k, k) - outer(v, v @ S)" + tail), "reads from one side alone");
  EXPECT_EQ(needsOf("S = S + outer(v, k)" + tail), "");
  EXPECT_EQ(reasonOf("S = tanh(S) + outer(v, k)" + tail), "general: the update depends on tanh of the state");
  EXPECT_EQ(reasonOf("S = S + outer(tanh(S @ k), k)" + tail), "general: the update depends on tanh of the state");
  EXPECT_EQ(reasonOf("S = S * S + outer(v, k)" + tail), "general: the update multiplies the state with itself");
  EXPECT_EQ(reasonOf("S = S + dot(v, S @ k) * outer(v, k)" + tail),
            "general: the update mixes the value channels of the state");
  EXPECT_EQ(reasonOf("S = S + outer(v - S @ k, k) - outer(v, v @ S)" + tail),
            "general: the update reads the state from both sides (S @ x and x @ S)");
  EXPECT_EQ(reasonOf("S = exp(outer(v, k)) * S + outer(v, k)" + tail),
            "elementwise: each element of S has a decay of its own, which is no product of a row and a column part");
  EXPECT_EQ(reasonOf("S = exp(outer(v, k)) * S + outer(v - S @ k, k)" + tail),
            "general: each element of the state has a decay of its own, and the state is also read");
}

TEST(Class, StatesInACycleAreGeneral) {
  Understood understood("dim K\ninput x: [K], a: [K]\nstate A: [K]\nstate B: [K]\nstate C: [K]\n"
                        "A = a * A + B\nB = a * B + A\nC = a * C + A\noutput o = C + x");
  EXPECT_EQ(understood.classOf("A"), "general");
  EXPECT_EQ(understood.classOf("B"), "general");
  EXPECT_EQ(understood.classOf("C"), "diagonal");
  EXPECT_EQ(understood.state("A").reason, "its update and that of B read each other's state, so they advance together");
}

TEST(Class, Moebius) {
  auto classOf = [](std::string update) {
    return Understood("dim K\ninput a: [K], b: [K]\nstate m: [K]\n" + update + "\noutput o = m").classOf("m");
  };
  EXPECT_EQ(classOf("m = m / (m + b)"), "moebius");
  EXPECT_EQ(classOf("m = (a * m + b) / (b * m + a)"), "moebius");
  EXPECT_EQ(classOf("m = m - m * m / (m + b)"), "moebius");
  EXPECT_EQ(classOf("m = a * m + b\nm = (1 - m / (m + b)) * m"), "moebius");
  EXPECT_EQ(classOf("m = (1 - m / (m + b)) * (1 - m / (m + b)) * m + m / (m + b) * m / (m + b) * b"), "moebius");
  EXPECT_EQ(classOf("m = 1 / (1 / (a * m + b) + a)"), "moebius");
  EXPECT_EQ(classOf("m = a / m"), "moebius");
  EXPECT_EQ(classOf("m = a + b / (a + b / (a + m))"), "moebius");
  EXPECT_EQ(classOf("m = m / b + a"), "diagonal");
  EXPECT_EQ(classOf("m = m / (m * m + b)"), "general");
  EXPECT_EQ(classOf("m = m / (1 + abs(m))"), "general");
  EXPECT_EQ(classOf("m = m / (m + b) + m"), "general");
  // Where the token divides by zero, so must the form.
  EXPECT_EQ(classOf("m = m * m / (m * (m + b))"), "general");
  EXPECT_EQ(classOf("m = m * m / m"), "general");
}

TEST(Class, Inverse) {
  auto understand = [](std::string update) {
    return Understood("dim K\ninput q: [K], k: [K], h: [K], a, b\nstate P: [K, K]\n" + update +
                      "\noutput o = P @ q\noutput p = a * b * h + k");
  };
  auto classOf = [&](std::string update) { return understand(update).classOf("P"); };
  EXPECT_EQ(classOf("let u = P @ k\nP = P - outer(u, u) / (1 + dot(k, u))"), "inverse");
  EXPECT_EQ(classOf("let u = k @ P\nP = P - outer(u / (1 + dot(u, k)), u)"), "inverse");
  EXPECT_EQ(classOf("P = P - P @ outer(k, k) @ P / (1 + dot(k, P @ k))"), "inverse");
  EXPECT_EQ(classOf("P = (P - outer(P @ h, k @ P) / (0.9 + dot(k @ P, h))) / 0.9"), "inverse");
  EXPECT_EQ(
      classOf("P = exp(-a * a) * P\nlet u = P @ (2 * k + h)\nP = P - b * outer(u, u) / (3 + b * dot(2 * k + h, u))"),
      "inverse");
  EXPECT_EQ(classOf("let u = P @ k\nP = P - outer(u, u) / (a / b + dot(k, u))"), "inverse");
  EXPECT_EQ(classOf("let u = P @ (k + 0.2 * h)\nP = 1.01 * (P - outer(u, u) / (2 + dot(k + 0.2 * h, u)))"), "inverse");
  EXPECT_EQ(classOf("let u = P @ l2norm(k)\nP = P - outer(u, u) / (1 + dot(l2norm(k), u))"), "inverse");
  EXPECT_EQ(classOf("let u = P @ diag(k) @ h\nP = P - outer(u, u) / (1 + dot(k * h, u))"), "inverse");
  EXPECT_EQ(classOf("let u = -h @ (diag(k) @ P)\nP = P - outer(u, u) / (1 - dot(h * k, u))"), "inverse");

  Understood understood = understand("P = a * P\nlet u = P @ k\nP = P - b * outer(u, u) / (3 + b * dot(k, u))");
  const InverseForm &form = *understood.state("P").inverse;
  EXPECT_EQ(form.kind, InverseForm::Kind::OfRightRead);
  EXPECT_EQ(understood.print(form.factor), "a * b");
  EXPECT_EQ(understood.print(form.noise), "3");
  EXPECT_EQ(understood.print(form.decay.linear), "a");

  auto reasonOf = [&](std::string update) {
    Understood understood = understand(update);
    return understood.classOf("P") + ": " + understood.state("P").reason;
  };
  std::string squared = "general: the update multiplies the state with itself, and ";
  EXPECT_EQ(reasonOf("let u = P @ k\nP = P - a * outer(u, u) / (1 + dot(k, u))"),
            squared + "is not scaled by what it is divided by");
  EXPECT_EQ(reasonOf("let u = P @ k\nP = P - outer(u, u) / (1 + dot(h, u))"),
            squared + "divides by another product with it than that of its own keys");
  EXPECT_EQ(reasonOf("let u = P @ k\nP = P - outer(u, u) / (1 + dot(k, u)) + outer(h, h)"),
            squared + "adds more than one outer product of reads with the same keys");
  EXPECT_EQ(reasonOf("let u = P @ k\nP = P @ diag(h) - outer(u, u) / (1 + dot(k, u))"),
            squared + "its rows or columns have decays of their own");
  EXPECT_EQ(reasonOf("let u = P @ k\nP = P - outer(u, u)"), "general: the update multiplies the state with itself");
}

TEST(Class, Tropical) {
  auto classOf = [](std::string update) {
    return Understood("dim K\ninput a: [K], b: [K]\nstate m: [K]\n" + update + "\noutput o = m").classOf("m");
  };
  EXPECT_EQ(classOf("m = max(m + a, b)"), "tropical");
  EXPECT_EQ(classOf("m = min(m, b) + a"), "tropical");
  EXPECT_EQ(classOf("m = max(m + a, m + b)"), "tropical");
  EXPECT_EQ(classOf("m = -max(-(m + a), -b)"), "tropical");
  EXPECT_EQ(classOf("m = logaddexp(m + a, b)"), "tropical");
  EXPECT_EQ(classOf("m = log(exp(b) + 2 * exp(m + a))"), "tropical");
  EXPECT_EQ(classOf("m = b + softplus(m + a - b)"), "tropical");
  EXPECT_EQ(classOf("m = logaddexp(a, logaddexp(m, b) - a)"), "tropical");
  EXPECT_EQ(classOf("m = -logaddexp(-m, -b) + a"), "tropical");
  EXPECT_EQ(classOf("m = softplus(m)"), "tropical");
  EXPECT_EQ(classOf("m = logaddexp(2 * m, b)"), "general");
  EXPECT_EQ(classOf("m = log(exp(m) - exp(b))"), "general");
  EXPECT_EQ(classOf("m = log(exp(m) + a)"), "general");
  EXPECT_EQ(classOf("m = max(m, b) + softplus(-abs(m - a))"), "general");
  EXPECT_EQ(classOf("m = max(m, b) + softplus(abs(m - b))"), "general");
  EXPECT_EQ(classOf("m = -logaddexp(m, b)"), "general");
  EXPECT_EQ(classOf("m = -max(m + a, b)"), "general");
  EXPECT_EQ(classOf("m = max(2 * m, b) + a"), "general");
  EXPECT_EQ(classOf("m = max(m, b) + max(m, a)"), "general");
}

TEST(Class, ReadOfOneStateFeedsAnother) {
  Understood understood("dim K, V\ninput q: [K], k: [K], v: [V]\nstate S: [V, K]\nstate R: [K, V]\n"
                        "S = S + outer(v - S @ k, k)\nlet f = S @ q\nR = R + outer(k - R @ f, f)\noutput o = R @ f");
  EXPECT_EQ(understood.classOf("S"), "delta");
  EXPECT_EQ(understood.classOf("R"), "delta");
  EXPECT_TRUE(understood.state("R").feedsOn.test(0));
  ASSERT_EQ(understood.delta("S").readouts.size(), 1u);
  EXPECT_EQ(understood.print(understood.delta("R").steps[0].write), "f");
}

TEST(Class, NormalizerIsOneMoreValueChannel) {
  Understood understood("dim K, V\ninput q: [K], k: [K], v: [V], g: scalar, h: scalar\nstate S: [V, K]\nstate z: [K]\n"
                        "state y: [K]\nS = exp(g) * S + outer(v, k)\nz = exp(g) * z + k\ny = exp(h) * y + k\n"
                        "output o = (S @ q) / dot(z, q) + dot(y, q)");
  EXPECT_EQ(understood.state("z").normalizerOf, 0u);
  EXPECT_FALSE(understood.state("y").normalizerOf.has_value());
}

} // namespace
