package trialstore_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/trialstore"
)

// FuzzOpen opens a results' ConfigMap that an earlier measurer left, or another writer changed. It checks
// that the next measurer takes all of its trials, in their order, or fails with a reason.
func FuzzOpen(f *testing.F) {
	server := configmaptest.New(namespace, name)
	first, err := trialstore.Open(f.Context(), config(server, "a"))
	if err != nil {
		f.Fatal(err)
	}
	for index := range 3 {
		if err := first.Append(f.Context(), record(index)); err != nil {
			f.Fatal(err)
		}
	}
	stored := mutate.Encode(server.Data())
	f.Add(stored, []byte{})
	f.Add(stored, []byte{0, 9, 0, 8, 0, 4, 2, 0})
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		data := mutate.Data(mutate.JSON(text, edits))
		server := configmaptest.New(namespace, name)
		server.Edit(func(c *corev1.ConfigMap) { c.Data = data })
		next, err := trialstore.Open(t.Context(), config(server, "b"))
		if err != nil {
			if measure.ReasonOf(err) == "" {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		trials := 0
		for key := range data {
			if len(key) >= len(measure.KeyTrialPrefix) && key[:len(measure.KeyTrialPrefix)] == measure.KeyTrialPrefix {
				trials++
			}
		}
		if got := next.Records(); len(got) != trials {
			t.Fatalf("%d of %d trials were taken", len(got), trials)
		}
		for i, r := range next.Records() {
			if r.Index != i {
				t.Fatalf("trial %d is at place %d", r.Index, i)
			}
		}
		if _, err := json.Marshal(next.Records()); err != nil {
			t.Fatal(err)
		}
	})
}
