package v1alpha1_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// BenchmarkAdmission prints how long the API server takes to admit the smallest and the largest object of each kind, to admit a
// change of the largest, and to refuse a run; with the policies, and by the schema alone.
func BenchmarkAdmission(b *testing.B) {
	ctx := context.Background()
	measureAdmission(b, "policies")
	b.Run("policies/BenchmarkRun/refused", func(b *testing.B) {
		answers(b, func() error {
			if create(parsed(b, canaryRun)) == nil {
				b.Fatal("the run was admitted")
			}
			return nil
		})
	})
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
		return create(parsed(b, canaryRun)) == nil, nil
	}); err != nil {
		b.Fatal("the policies still apply: ", err)
	}
	measureAdmission(b, "schema")
}

func parsed(b *testing.B, text string) *unstructured.Unstructured {
	b.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		b.Fatal(err)
	}
	return o
}

func measureAdmission(b *testing.B, rules string) {
	ctx := context.Background()
	for _, kind := range slices.Sorted(maps.Keys(largest)) {
		for _, size := range []string{"smallest", "largest"} {
			o := parsed(b, map[string]string{"smallest": smallest[kind], "largest": largest[kind]}[size])
			b.Run(rules+"/"+kind+"/"+size, func(b *testing.B) {
				answers(b, func() error { return create(o.DeepCopy()) })
			})
		}
		b.Run(rules+"/"+kind+"/changed", func(b *testing.B) {
			o := parsed(b, largest[kind])
			if err := server.Create(ctx, o); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = server.Delete(ctx, o) }()
			switch kind {
			case "Testbed":
				o.Object["spec"].(map[string]any)["historyLimit"] = int64(100)
			case "BenchmarkMeasurement": // its spec cannot change
				o.SetAnnotations(map[string]string{"a": "b"})
			default:
				o.Object["spec"].(map[string]any)["suspend"] = true
			}
			answers(b, func() error { return server.Update(ctx, o.DeepCopy(), client.DryRunAll) })
		})
	}
}

// answers reports the median and the slowest of the times in which requests are answered.
func answers(b *testing.B, request func() error) {
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := request(); err != nil {
			b.Fatal(clip(err.Error()))
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(0, "ns/op") // leaves it out
	b.ReportMetric(milliseconds(times[len(times)/2]), "ms-median")
	b.ReportMetric(milliseconds(times[len(times)-1]), "ms-slowest")
}
