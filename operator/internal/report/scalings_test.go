package report

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// threaded returns a document of two MTUs over numbers of threads, whose goodput follows from the number, with three repeats 1 % apart.
func threaded(path string, of func(threads float64) float64) SuiteDocument {
	doc := SuiteDocument{Axes: []SuiteAxis{{Name: "mtu", Kind: v1alpha1.AxisCategory}, {Name: "threads", Kind: v1alpha1.AxisNumeric, Path: path}}}
	for _, mtu := range []v1alpha1.AxisLabel{"1500", "9000"} {
		for _, threads := range []float64{1, 4, 10, 14, 20} {
			cell := SuiteCell{Values: map[string]v1alpha1.AxisLabel{"mtu": mtu, "threads": v1alpha1.AxisLabel(fmt.Sprint(threads))}}
			for repeat := range 3 {
				m := SuiteMeasurement{SuiteMeasurement: v1alpha1.SuiteMeasurement{GoodputBitsPerSecond: ptr.To(int64(of(threads) * (1 + 0.01*float64(repeat-1))))}}
				cell.Measurements = append(cell.Measurements, m)
			}
			doc.Cells = append(doc.Cells, cell)
		}
	}
	doc.Scalings = scalings(doc.Axes, doc.Cells)
	return doc
}

const gatewayThreads = "chain[gw-west,gw-east].encryptionGateway.threads"

// TestScalings checks what a report says of a goodput over threads that has a cap: where it stops, that it does not follow the law, and what one thread
// extrapolates to.
func TestScalings(t *testing.T) {
	doc := threaded(gatewayThreads, func(threads float64) float64 { return 262.5e6 * min(threads, 12.8) })
	if len(doc.Scalings) != 2 {
		t.Fatalf("%+v", doc.Scalings)
	}
	for i, mtu := range []v1alpha1.AxisLabel{"1500", "9000"} {
		s := doc.Scalings[i]
		if s.Axis != "threads" || s.Of != FitGoodput || len(s.Others) != 1 || s.Others["mtu"] != mtu || s.Scaling == nil || s.Scaling.StopsAt == nil || s.Scaling.StopsAt.Value != 14 {
			t.Errorf("%+v", s)
		}
	}
	rows := scalingsSection(doc).rows
	if got := strings.Join(append(rows[1][:3:3], rows[1][8:]...), "|"); !strings.HasPrefix(got, "threads|mtu=9000|goodput of the first number of connections|14|the points do not follow the law (p = ") {
		t.Errorf("%q", got)
	}
	numbers := numbersSection(doc).rows
	if got := strings.Join(numbers[9], "|"); len(numbers) != 10 || !strings.HasPrefix(got, "threads|mtu=9000|goodput of the first number of connections|20|3360.0|5250.0|Mbit/s|0.64|0.62") {
		t.Errorf("%d rows, the last is %q", len(numbers), got)
	}
	law := threaded(gatewayThreads, func(threads float64) float64 {
		return 1e9 * threads / (1 + 0.05*(threads-1) + 0.01*threads*(threads-1))
	})
	if row := scalingsSection(law).rows[0]; row[3] != "0.05" || row[5] != "0.01" || row[7] != "9.75" || row[8] != "10" || row[9] != none {
		t.Errorf("%q", row)
	}
	grows := threaded(gatewayThreads, func(threads float64) float64 { return 1e9 * threads })
	if row := scalingsSection(grows).rows[0]; row[4] != none || row[6] != none || row[7] != none || row[8] != "it still grows at 20" {
		t.Errorf("%q", row)
	}
}

// TestScalingsOfFewValues checks that what cannot be said has its reason, and that what is no value is counted.
func TestScalingsOfFewValues(t *testing.T) {
	doc := threaded(gatewayThreads, func(threads float64) float64 { return 1e9 })
	doc.Cells[0].Measurements[0].GoodputNote = v1alpha1.NoteDoubtful
	s := scalings(doc.Axes, doc.Cells[:2])[0]
	if got := s.note(); got != "no law is fitted: too few measurements: they are at 2 values of the axis, and it takes 3; 1 more figures are no values" {
		t.Error(got)
	}
	for i := range doc.Cells {
		doc.Cells[i].Measurements = doc.Cells[i].Measurements[1:2]
	}
	doc.Scalings = scalings(doc.Axes, doc.Cells)
	if row := scalingsSection(doc).rows[0]; row[8] != none || row[9] != "too few measurements: no number has repeats" || len(numbersSection(doc).rows) != 0 {
		t.Errorf("%q", row)
	}
	if got := scalings(doc.Axes, nil); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestCountsCores checks which axes count cores.
func TestCountsCores(t *testing.T) {
	for path, want := range map[string]bool{
		gatewayThreads: true, "chain[r1].cpu": true, "chain[fw].platform.vcpus": true, "chain[fw].firewall.rules": false, "chain[fw].platform.memory": false,
		"measurements.tcp.streams": false, "": false, "noisyNeighbors[cpu].cpu": false,
	} {
		if got := (SuiteAxis{Kind: v1alpha1.AxisNumeric, Path: path}).CountsCores(); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if (SuiteAxis{Kind: v1alpha1.AxisCategory, Path: gatewayThreads}).CountsCores() {
		t.Error("an axis of categories has numbers")
	}
}
