package benchmarkrun

import "testing"

// TestStatusHasTheSeed checks that the status says which random order a run has.
func TestStatusHasTheSeed(t *testing.T) {
	random := func(s *scope) {
		withPlan(s)
		s.plan.Instructions.OrderSeed = 7
	}
	plain, seeded := newScope(admitted, withPlan), newScope(admitted, random)
	if got := summarize(plain, decide(plain)); got.Plan == nil || got.Plan.OrderSeed != nil {
		t.Errorf("%+v of the declared order", got.Plan)
	}
	if got := summarize(seeded, decide(seeded)); got.Plan == nil || got.Plan.OrderSeed == nil || *got.Plan.OrderSeed != 7 {
		t.Errorf("%+v, want the seed 7", got.Plan)
	}
}
