# z3: one unsatisfiable puzzle, one with a model, and arithmetic over bit vectors.
#
# SPDX-License-Identifier: MIT
needs="z3 awk"

# Eight pigeons do not fit into seven holes.
pigeons() {
  awk 'BEGIN {
    p = 8; h = 7
    for (i = 1; i <= p; ++i) for (j = 1; j <= h; ++j) printf "(declare-const x%d_%d Bool)\n", i, j
    for (i = 1; i <= p; ++i) {
      printf "(assert (or"
      for (j = 1; j <= h; ++j) printf " x%d_%d", i, j
      print "))"
    }
    for (j = 1; j <= h; ++j) for (i = 1; i <= p; ++i) for (k = i + 1; k <= p; ++k)
      printf "(assert (or (not x%d_%d) (not x%d_%d)))\n", i, j, k, j
    print "(check-sat)"
  }'
}

run_case() {
  pigeons > pigeons.smt2
  expect "the pigeons" "$(on_tarn z3 pigeons.smt2)" unsat
  cat > numbers.smt2 << 'END'
(declare-const a Int) (declare-const b Int)
(push)
(assert (and (> a 1) (> b a) (= (* a b) 8051)))
(check-sat)
(get-value (a b))
(pop)
(declare-const v (_ BitVec 32)) (declare-const w (_ BitVec 32))
(push)
(assert (= (bvmul v w) #x0001869f))
(assert (bvugt v #x00000001)) (assert (bvugt w v)) (assert (bvult w #x00010000))
(check-sat)
(pop)
(declare-fun f (Int) Int)
(assert (forall ((i Int)) (> (f i) i)))
(assert (< (f 5) 5))
(check-sat)
END
  z3 numbers.smt2 > plain
  on_tarn z3 numbers.smt2 > result || fail "z3 failed: $(cat result)"
  cmp plain result || fail "the answers differ"
  expect "the factors" "$(sed -n 2p result)$(sed -n 3p result)" "((a 83) (b 97))"
  expect "the last answer" "$(tail -n 1 result)" unsat
  expect_account z3
}
