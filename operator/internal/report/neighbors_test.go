package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func neighborsReport() *v1alpha1.NoisyNeighborsReport {
	return &v1alpha1.NoisyNeighborsReport{
		Loads: []v1alpha1.NoisyNeighborReport{
			{Name: "cpu", Kind: v1alpha1.NeighborCPU, Runtime: v1alpha1.RuntimePod, Trials: 9, IntendedMilliCPU: new(int64(2000)), MilliCPU: new(int64(1987)),
				Stressors: []v1alpha1.StressorReport{{Name: "cpu", Operations: 123456, OperationsPerSecond: 4321}}},
			{Name: "frames", Kind: v1alpha1.NeighborNetwork, Runtime: v1alpha1.RuntimeVirtualMachine, Trials: 9, MilliCPU: new(int64(300)), IntendedFramesPerSecond: new(int64(48828)),
				SentFramesPerSecond: new(int64(48800)), ReceivedFramesPerSecond: new(int64(48799))},
			{Name: "unknown", Kind: v1alpha1.NeighborDisk},
		},
		Comparison: []v1alpha1.NoisyNeighborDifference{
			{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, Without: new(int64(400000)), With: new(int64(300000)), DifferencePartsPerMillion: new(int64(-250000)),
				Pairs: 4, DifferenceLowPartsPerMillion: new(int64(-262000)), DifferenceHighPartsPerMillion: new(int64(12000)), WithoutFirst: new(int64(402000)), WithoutLast: new(int64(398000))},
			{FigureKey: v1alpha1.FigureKey{Size: "64", Metric: v1alpha1.MetricLatencyP99, Load: "idle"}, Without: new(int64(10000)), With: new(int64(14500)), DifferencePartsPerMillion: new(int64(450000))},
			{FigureKey: v1alpha1.FigureKey{Streams: 4, Metric: v1alpha1.MetricTCPRetransmits}, Without: new(int64(0)), With: new(int64(7))},
			{FigureKey: v1alpha1.FigureKey{Size: "512", Metric: v1alpha1.MetricLoss, Load: "idle"}, Without: new(int64(0))},
		},
	}
}

func TestNeighbors(t *testing.T) {
	run, records := fixture(t)
	for i := range records {
		records[i].Neighbors = i > len(records)/2
	}
	run.Status.NoisyNeighbors = neighborsReport()
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	for format, wanted := range map[Format][]string{
		FormatTable: {"2.000", "1.987", "48.799", "cpu 4321", "-25.00", "+45.00", "4 TCP connections", "-26.20 to +1.20", "402000 to 398000", "WITHOUT AND WITH THE NEIGHBORS"},
		FormatJSON:  {`"differencePartsPerMillion": -250000`, `"pairs": 4`, `"operationsPerSecond": 4321`},
		FormatCSV:   {"StressorOperations,", "NeighborReceivedFramesPerSecond,,,,,,,,,,,frames,,,,48799,frames/s,", "LatencyP99Nanoseconds,64,,idle,,,,,,,,,,WithoutNeighbors,64,10000,ns,"},
	} {
		var out bytes.Buffer
		if err := Write(&out, doc, format, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s does not say %q:\n%s", format, want, out.String())
			}
		}
	}
	var trials bytes.Buffer
	if err := Write(&trials, doc, FormatCSV, Options{Trials: true}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&trials).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(lines[0], "neighbors")
	if at < 0 || lines[1][at] != "false" || lines[len(lines)-1][at] != "true" {
		t.Errorf("the trials do not say which were made with neighbors: %v", lines[0])
	}
}
