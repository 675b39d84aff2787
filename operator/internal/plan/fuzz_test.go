package plan_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/testing/plantest"
)

// FuzzParse checks that no stored plan causes a panic, and that what is written is read as it was written.
func FuzzParse(f *testing.F) {
	for _, c := range plantest.Cases() {
		made, err := plan.Make(c.Input())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(made.JSON(), []byte{})
		f.Add(made.JSON(), []byte{0, 40, 0, 8, 1, 2, 2, 0})
	}
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		read, err := plan.Parse(mutate.JSON(text, edits))
		if err != nil {
			return
		}
		// Empty parts may go when they are written for the first time.
		for range 2 {
			if read, err = plan.Parse(read.JSON()); err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
		}
		again, err := plan.Parse(read.JSON())
		if err != nil || !bytes.Equal(again.JSON(), read.JSON()) {
			t.Fatalf("read again: %v\n%s\nthen %s", err, read.JSON(), again.JSON())
		}
	})
}

// FuzzMake plans runs and testbeds that no admission has seen: a cluster can have an older schema. It
// checks that each becomes a plan or an error, in a time that does not hold up other runs.
func FuzzMake(f *testing.F) {
	cases := plantest.Cases()
	for i := range cases {
		f.Add(uint8(i), []byte{}, []byte{})
		f.Add(uint8(i), []byte{0, 30, 0, 8, 0, 20, 2, 0}, []byte{0, 12, 0, 14})
	}
	const limit = 5 * time.Second
	f.Fuzz(func(t *testing.T, which uint8, run, testbed []byte) {
		in := cases[int(which)%len(cases)].Input()
		if !edited(t, in.Run, run) || !edited(t, in.Testbed, testbed) {
			return
		}
		in.Run.Spec.Experiment.Measurements = in.Run.Spec.Experiment.Measurements.Filled()
		start := time.Now()
		made, err := plan.Make(in)
		if took := time.Since(start); took > limit {
			t.Fatalf("it took %s", took)
		}
		if err != nil {
			return
		}
		if _, err := plan.Parse(made.JSON()); err != nil {
			t.Fatalf("the plan cannot be read again: %v", err)
		}
	})
}

// edited changes an object as JSON, and reports whether the operator can still read it.
func edited(t *testing.T, object any, edits []byte) bool {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return json.Unmarshal(mutate.JSON(text, edits), object) == nil
}

// FuzzAmounts checks that any JSON string or number is read as an amount, that Err is nil only for
// an amount that Kubernetes reads too, and that no text takes long.
func FuzzAmounts(f *testing.F) {
	for _, text := range []string{`"500m"`, `2`, `"1.5Gi"`, `"1e1.5"`, `"1e99999999999"`, `1e300`, `null`, `""`, `"-1"`, `{}`, `"9999999999999999Ti"`} {
		f.Add([]byte(text))
	}
	const limit = time.Second
	f.Fuzz(func(t *testing.T, text []byte) {
		var cpu v1alpha1.CPUQuantity
		var size v1alpha1.ByteQuantity
		start := time.Now()
		if json.Unmarshal(text, &cpu) != nil || json.Unmarshal(text, &size) != nil {
			return
		}
		amounts := cpu.MilliCPU() + size.Bytes()
		if took := time.Since(start); took > limit {
			t.Fatalf("%s took %s", text, took)
		}
		if amounts < 0 {
			t.Fatalf("%s is %d", text, amounts)
		}
		for _, one := range []struct {
			text string
			err  error
		}{{string(cpu), cpu.Err()}, {string(size), size.Err()}} {
			if one.err != nil || one.text == "" {
				continue
			}
			if _, parseErr := resource.ParseQuantity(one.text); parseErr != nil {
				t.Fatalf("%q has no error, and Kubernetes says %v", one.text, parseErr)
			}
		}
	})
}
