package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestOrderSeed checks that a run has its own seed, or one that follows from its UID and leaves
// the digest as it is.
func TestOrderSeed(t *testing.T) {
	made := func(order v1alpha1.MeasurementOrder, seed *int64, uid types.UID) (int64, string) {
		in := plantest.Input(1)
		in.Run.UID = uid
		m := &in.Run.Spec.Experiment.Measurements
		m.Order, m.Seed = order, seed
		p := mustMake(t, in)
		return p.Instructions.OrderSeed, p.Digest
	}
	declared, plain := made(v1alpha1.OrderDeclared, nil, "a")
	if declared != 0 {
		t.Errorf("the declared order has the seed %d", declared)
	}
	absent, same := made("", nil, "a")
	first, digest := made(v1alpha1.OrderRandom, nil, "a")
	if absent != first || same != digest {
		t.Errorf("no order has the seed %d and the digest %s, want those of a random one, %d and %s", absent, same, first, digest)
	}
	again, _ := made(v1alpha1.OrderRandom, nil, "a")
	other, otherDigest := made(v1alpha1.OrderRandom, nil, "b")
	if first < 1 || first >= 1<<53 || first != again || first == other {
		t.Errorf("seeds of one UID: %d and %d, of another: %d", first, again, other)
	}
	if digest != otherDigest || digest == plain {
		t.Errorf("digests of a random order: %s and %s, of the declared one: %s", digest, otherDigest, plain)
	}
	if given, own := made(v1alpha1.OrderRandom, new(int64(7)), "a"); given != 7 || own == digest {
		t.Errorf("a seed of 7 gives %d, and the digest %s", given, own)
	}
}
