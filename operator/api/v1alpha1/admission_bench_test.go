package v1alpha1_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// largestRun returns a run with as many parts that the rules join as the schema allows.
func largestRun() string {
	var functions, criteria, neighbors []string
	for i := range 8 {
		functions = append(functions, fmt.Sprintf("{name: g%d, function: EncryptionGateway, runtime: VirtualMachine, west: {mtuBytes: 1500}, east: {mtuBytes: 1500}}", i))
		neighbors = append(neighbors, fmt.Sprintf("{name: n%d, kind: Network, framesPerSecond: 1}", i))
	}
	for i := range 32 {
		criteria = append(criteria, fmt.Sprintf("{name: c%d, metric: LatencyP99Nanoseconds, load: l7, size: '%d', atMost: 1}", i, 100+i))
	}
	var loads []string
	for i := range 8 {
		loads = append(loads, fmt.Sprintf("{name: l%d, goal: d, percent: 50}", i))
	}
	return fmt.Sprintf(`
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: largest, namespace: default}
spec:
  experiment:
    chain: [%s]
    traffic: {frameBytes: [], frameRanges: [{from: 100, to: 107, step: 1}, {from: 108, to: 115, step: 1}, {from: 116, to: 123, step: 1}, {from: 124, to: 131, step: 1}]}
    measurements:
      noisyNeighbors: WithAndWithout
      throughput: {goals: [{name: a}, {name: b}, {name: c}, {name: d}]}
      latency: {loads: [%s]}
    noisyNeighbors: [%s]
    acceptance: [%s]
`, strings.Join(functions, ", "), strings.Join(loads, ", "), strings.Join(neighbors, ", "), strings.Join(criteria, ", "))
}

// BenchmarkAdmission prints how long the API server takes to admit or refuse a run,
// by the schema alone and with the policies.
func BenchmarkAdmission(b *testing.B) {
	object := func(text string) *unstructured.Unstructured {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			b.Fatal(err)
		}
		return &unstructured.Unstructured{Object: content}
	}
	runs := map[string]string{"smallest": goodRun, "largest": largestRun()}
	measure := func(rules string) {
		for _, name := range []string{"smallest", "largest"} {
			b.Run(rules+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if err := create(object(runs[name])); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	measure("policies")
	b.Run("policies/refused", func(b *testing.B) {
		for b.Loop() {
			if create(object(canaryRun)) == nil {
				b.Fatal("the run was admitted")
			}
		}
	})
	ctx := context.Background()
	objects, err := policies()
	if err != nil {
		b.Fatal(err)
	}
	for _, policy := range objects {
		if err := server.Delete(ctx, policy); err != nil {
			b.Fatal(err)
		}
	}
	defer func() {
		if err := installPolicies(ctx, server); err != nil {
			b.Fatal(err)
		}
	}()
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return create(object(canaryRun)) == nil, nil
	}); err != nil {
		b.Fatal("the policies still apply: ", err)
	}
	measure("schema")
}

// TestLargestRunIsAdmitted keeps the run of the benchmark a valid one.
func TestLargestRunIsAdmitted(t *testing.T) {
	if err := create(object(t, largestRun(), nil)); err != nil {
		t.Error(err)
	}
}
