package mutate_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"vnfbench.io/operator/internal/testing/mutate"
)

// TestJSON checks that edits change values, that they do so the same way each time, and that the
// result is JSON.
func TestJSON(t *testing.T) {
	document := []byte(`{"a":[1,2,{"b":"text"}],"c":{"d":null,"e":1.5e3},"f":true}`)
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range 500 {
		edits := make([]byte, 4+random.IntN(40))
		for i := range edits {
			edits[i] = byte(random.UintN(256))
		}
		got := mutate.JSON(document, edits)
		if !json.Valid(got) {
			t.Fatalf("edits %x make %s", edits, got)
		}
		if again := mutate.JSON(document, edits); string(again) != string(got) {
			t.Fatalf("edits %x make %s, then %s", edits, got, again)
		}
		seen[string(got)] = true
	}
	if len(seen) < 300 {
		t.Errorf("500 edits make %d documents", len(seen))
	}
	if got := mutate.JSON([]byte("no JSON"), []byte("edits")); string(got) != "no JSON" {
		t.Errorf("what is no JSON becomes %s", got)
	}
}
