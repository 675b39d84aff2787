package suite

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// largest returns a template of almost 256 KiB with 500 cells: an experiment of 30 KiB, and seven variants of as much.
func largest(t testing.TB) *v1alpha1.SuiteTemplate {
	t.Helper()
	out := &v1alpha1.SuiteTemplate{}
	padding := strings.Repeat("x", 30<<10)
	out.Experiment.Raw = fmt.Appendf(nil, `{"testbedRef":{"name":"lab"},"chain":[{"name":"fw","function":"Firewall","firewall":{"backend":%q}}]}`, padding)
	variants := v1alpha1.Axis{Name: "variant"}
	for i := range 7 {
		v := v1alpha1.Variant{Name: fmt.Sprint("v", i)}
		v.Patch.Raw = fmt.Appendf(nil, `{"testbedRef":{"name":"%d%s"}}`, i, padding)
		variants.Variants = append(variants.Variants, v)
	}
	numbers := v1alpha1.Axis{Name: "seconds", Path: "startupSeconds"}
	for i := range 71 {
		numbers.Values = append(numbers.Values, apiextensionsv1.JSON{Raw: fmt.Append(nil, i+5)})
	}
	out.Matrix.Axes = []v1alpha1.Axis{variants, numbers}
	if bytes := bytesOf(out); bytes < 240<<10 || bytes > maxTemplateBytes {
		t.Fatalf("the template has %d bytes", bytes)
	}
	return out
}

// BenchmarkParseOfManySuites parses large templates at the same time, and reports how much memory is in use at most:
// one after the other, as Parse does, and all at once.
func BenchmarkParseOfManySuites(b *testing.B) {
	template := largest(b)
	for _, how := range []struct {
		name  string
		parse func(*v1alpha1.SuiteTemplate) (*Suite, error)
	}{{"one after the other", Parse}, {"at once", parse}} {
		b.Run(how.name, func(b *testing.B) {
			b.ReportAllocs()
			var peak uint64
			for b.Loop() {
				runtime.GC()
				done := make(chan struct{})
				var all, sampler sync.WaitGroup
				sampler.Go(func() {
					for {
						var now runtime.MemStats
						runtime.ReadMemStats(&now)
						peak = max(peak, now.HeapAlloc)
						select {
						case <-done:
							return
						case <-time.After(time.Millisecond):
						}
					}
				})
				for range 100 {
					all.Go(func() {
						if s, err := how.parse(template); err != nil || len(s.Cells) != 497 {
							b.Error(err)
						}
					})
				}
				all.Wait()
				close(done)
				sampler.Wait()
			}
			b.ReportMetric(float64(peak)/(1<<20), "MiB-at-most")
		})
	}
}

// TestParseOfOneTemplateAtATime checks that a template waits while another is parsed.
func TestParseOfOneTemplateAtATime(t *testing.T) {
	parsing.Lock()
	parsed := make(chan error, 1)
	go func() {
		_, err := Parse(template(t, ""))
		parsed <- err
	}()
	select {
	case <-parsed:
		t.Error("two templates are parsed at the same time")
	case <-time.After(50 * time.Millisecond):
	}
	parsing.Unlock()
	if err := <-parsed; err != nil {
		t.Error(err)
	}
}

// BenchmarkStep is what a step of an execution with 500 cells takes to know its cells: at its begin, and later.
func BenchmarkStep(b *testing.B) {
	small := &v1alpha1.SuiteTemplate{}
	small.Experiment.Raw = []byte(`{"chain":[{"name":"fw","function":"Firewall"}]}`)
	for path, count := range map[string]int{"startupSeconds": 50, "deadlineSeconds": 10} {
		axis := v1alpha1.Axis{Name: strings.ToLower(path), Path: path}
		for i := range count {
			axis.Values = append(axis.Values, apiextensionsv1.JSON{Raw: fmt.Append(nil, 100+i)})
		}
		small.Matrix.Axes = append(small.Matrix.Axes, axis)
	}
	for name, of := range map[string]*v1alpha1.SuiteTemplate{"small": small, "largest": largest(b)} {
		for step, cells := range map[string]func(*v1alpha1.SuiteTemplate) (*Suite, error){"begin": Parse, "later": Resume} {
			b.Run(name+"/"+step, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if s, err := cells(of); err != nil || len(s.Cells) < 490 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
