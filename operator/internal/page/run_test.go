package page_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/testing/documenttest"
	"vnfbench.io/operator/internal/testing/plantest"
)

var (
	once  sync.Once
	small report.Document
)

// made returns the document of a small run, which tests do not change.
func made(t *testing.T) report.Document {
	t.Helper()
	once.Do(func() {
		in := documenttest.Small()
		in.Run.Spec.Experiment.Measurements.FrameLossRate = &v1alpha1.FrameLossRate{StepPercent: 10, TrialMilliseconds: 1000}
		small = documenttest.Make(t, in, "1.2.3", nil)
	})
	return small
}

// copied returns a document that a test may change.
func copied(t *testing.T, doc report.Document) (out report.Document) {
	t.Helper()
	text, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// has checks that a page has each of the texts.
func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not have %q", w)
		}
	}
}

// hasNot checks that a page has none of the texts.
func hasNot(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			t.Errorf("the page has %q", w)
		}
	}
}

// captions are those of the pictures that a whole run has.
var captions = []string{
	"What the frames pass", "Throughput of each size and goal", "Loss against offered load, 64 bytes", "The search, trial by trial, 64 bytes",
	"Frame loss rate, 64 bytes", "Delay against load, 64 bytes, forward (west to east)", "Delay against load, 64 bytes, reverse (east to west)",
	"Distribution of delay, 64 bytes, forward (west to east)", "Frames slower than a delay, 64 bytes, reverse (east to west)",
}

// TestRun checks the page of a whole run: the verdict, each picture with units and n, and how to run it again.
func TestRun(t *testing.T) {
	doc := made(t)
	text := written(t, doc)
	for _, caption := range captions {
		has(t, text, "<figcaption>"+caption+"</figcaption>")
	}
	n := strings.Count(text, "<figcaption>")
	if strings.Count(text, "<svg") != n {
		t.Errorf("%d pictures with %d captions", strings.Count(text, "<svg"), n)
	}
	has(t, text, "<strong>Succeeded</strong>", "kfps in each direction", "one-way delay, µs", ">load, kfps in each direction</text>", "loss, ppm", "trials of the searches", "share of the frames sent",
		"apiVersion: vnfbench.io/v1alpha1", "kubectl vnfbench replay run.json.zst", "Throughput NDR, 64 bytes", "mean of 3 repeats")
	if again := written(t, doc); again != text {
		t.Error("the same document gives other bytes")
	}
}

// TestParts checks that pages leave out what is not there, and say why where a reader would miss it.
func TestParts(t *testing.T) {
	t.Run("without trials", func(t *testing.T) {
		doc := copied(t, made(t))
		doc.Trials = nil
		text := written(t, doc)
		has(t, text, "The document has no trials", "Throughput of each size and goal", "Delay against load")
		hasNot(t, text, "The search, trial by trial", "Distribution of delay")
	})
	t.Run("without a plan", func(t *testing.T) {
		doc := copied(t, made(t))
		doc.Inputs = nil
		has(t, written(t, doc), "The pictures of the trials are left out: the document has no plan")
	})
	t.Run("waiting", func(t *testing.T) {
		text := written(t, report.Document{Run: report.Run{Namespace: "a", Name: "b"}, Completeness: report.Partial, Succeeded: report.Outcome{Status: metav1.ConditionUnknown}, QueuePosition: new(int32(2))})
		has(t, text, "<strong>Not ended yet</strong>", "This report is partial", "No trial has been recorded", "position 2 of the queue")
		hasNot(t, text, "<svg", `id="tcp"`, `id="delay"`)
	})
	t.Run("failed", func(t *testing.T) {
		doc := copied(t, made(t))
		doc.Succeeded = report.Outcome{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonChainFailed, Message: "no frame of 64 bytes came through"}
		doc.Completeness, doc.Results = report.Partial, nil
		has(t, written(t, doc), `class="verdict bad"`, "<strong>Failed</strong> ChainFailed: no frame of 64 bytes came through")
	})
	t.Run("inconclusive", func(t *testing.T) {
		doc := copied(t, made(t))
		doc.Succeeded = report.Outcome{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInconclusive, Message: "one criterion is open"}
		has(t, written(t, doc), "<strong>Inconclusive</strong> one criterion is open")
	})
	t.Run("TCP", func(t *testing.T) {
		doc := report.Document{Run: report.Run{Name: "tcp"}, TCP: &v1alpha1.TCPResult{}}
		for _, n := range []int32{1, 2, 4} {
			doc.TCP.Streams = append(doc.TCP.Streams, v1alpha1.TCPStreamsResult{Streams: n, Directions: []v1alpha1.TCPDirectionResult{{
				Direction: "Forward", GoodputBitsPerSecond: int64(n) * 1e9, Intervals: []v1alpha1.TCPInterval{{SentBitsPerSecond: 1e9}, {StartMilliseconds: 1000, SentBitsPerSecond: 2e9}},
				Statistics: []v1alpha1.Statistics{{Metric: v1alpha1.MetricTCPGoodput, Values: []int64{1e9, 2e9}}},
			}}})
		}
		text := written(t, doc)
		has(t, text, "TCP goodput over the number of connections", "TCP over time, the latest repeat", "goodput, Mbit/s", "4 connections")
		hasNot(t, text, `id="delay"`, "Loss against")
	})
	t.Run("connections", func(t *testing.T) {
		doc := report.Document{Connections: &v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{{Name: "web", IntendedConnectionsPerSecond: 1000, EstablishedConnectionsPerSecond: new(int64(990))}, {Name: "held"}}}}
		has(t, written(t, doc), "Connections established", "connections/s", ">web</text>", ">established</text>")
	})
	t.Run("neighbors and baseline", func(t *testing.T) {
		key := v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: "64", Load: "pdr50"}
		doc := report.Document{
			NoisyNeighbors: &v1alpha1.NoisyNeighborsReport{Comparison: []v1alpha1.NoisyNeighborDifference{{FigureKey: key, DifferencePartsPerMillion: new(int64(250_000)), DifferenceLowPartsPerMillion: new(int64(100_000)), DifferenceHighPartsPerMillion: new(int64(400_000))}}},
			Baseline:       &v1alpha1.BaselineReport{Figures: []v1alpha1.BaselineFigure{{FigureKey: key, DifferencePartsPerMillion: new(int64(-31_000))}}},
			Experiment:     v1alpha1.Experiment{Chain: []v1alpha1.NetworkFunction{{Name: "r"}}, NoisyNeighbors: []v1alpha1.NoisyNeighbor{{Name: "loud", Kind: v1alpha1.NeighborCPU}}},
		}
		has(t, written(t, doc), "What the neighbors changed", "Against the baseline", ">+25 %</text>", ">−3.1 %</text>", "95 % interval", "neighbor loud (CPU)")
	})
	t.Run("soak", func(t *testing.T) {
		doc := report.Document{Results: []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, Soak: &v1alpha1.SoakResult{IntendedFramesPerSecond: 5e4, Intervals: []v1alpha1.SoakInterval{{P50Nanoseconds: 1e4, P99Nanoseconds: 2e4, MaxNanoseconds: 9e4}, {StartSeconds: 300, P50Nanoseconds: 1e4, P99Nanoseconds: 3e4, MaxNanoseconds: 9e6, LossPartsPerMillion: 4}}}}}}
		has(t, written(t, doc), "Delay over time, soak of 64 bytes at 50 kfps", "Loss over time", "n = 2 intervals")
	})
	t.Run("processors", func(t *testing.T) {
		doc := copied(t, made(t))
		doc.CPU = []v1alpha1.CPUResult{{FigureKey: v1alpha1.FigureKey{Size: "64", Goal: "NDR"}, Trials: 1, Node: &v1alpha1.NodeCPU{CPUs: 4, SoftirqMilliCPU: 900, UserMilliCPU: 100}, Functions: []v1alpha1.FunctionCPU{{Name: "vm", Guest: &v1alpha1.GuestCPU{SoftirqMilliCPU: 500}}}}}
		rate := fmt.Sprintf(">NDR, 64 bytes: %s kfps</text>", plot.Number(float64(doc.Results[0].Throughput[0].FramesPerSecond)/1e3))
		has(t, written(t, doc), "Cores used on the chain", "Cores used by the functions, by kind", "cores in use", ">softirq</text>", rate)
	})
}

// TestLossIsInfinite checks that the curves of a load with loss end where the share of its lost frames begins.
func TestLossIsInfinite(t *testing.T) {
	lossless := written(t, made(t))
	hasNot(t, lossless, "ppm lost")
	doc := documenttest.Make(t, documenttest.Small(), "1.2.3", func(_ measure.Instructions, _ []measure.Record, r *measure.Record) {
		if r.Load == "pdr50" {
			d := &r.Outcome.Directions[0]
			d.ReceivedFrames = d.SentFrames - d.SentFrames/10
		}
	})
	has(t, written(t, doc), "pdr50 (n = ", " in 3 trials), 100k ppm lost")
}

// TestNeighborsOfTrials checks that the pictures of a search have the trials of the side that its figures are of, and no others.
func TestNeighborsOfTrials(t *testing.T) {
	in := plantest.Neighbors()
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64}
	doc := documenttest.Make(t, in, "1.2.3", nil)
	with, all := 0, 0
	for _, r := range doc.Trials {
		if r.Stage == measure.StageThroughput {
			all++
			if r.Neighbors {
				with++
			}
		}
	}
	if with == 0 || with == all {
		t.Fatalf("%d of the %d trials are with neighbors", with, all)
	}
	text := written(t, doc)
	has(t, text, fmt.Sprintf("n = %d trials of the search.", with))
	hasNot(t, text, fmt.Sprintf("n = %d trials of the search.", all))
}

// TestDoubtfulFigures checks that pictures say which of their values are in doubt, and which direction a rate is of.
func TestDoubtfulFigures(t *testing.T) {
	hasNot(t, written(t, made(t)), " ?</text>", "In doubt: ")
	doc := copied(t, made(t))
	doc.Rates = report.ForwardDirection
	limit := &doc.Results[0].Throughput[0]
	limit.UpperBoundCause, limit.Doubts = v1alpha1.CauseDeviceLoss, []v1alpha1.DoubtCode{v1alpha1.DoubtDrift}
	limit.Statistics = []v1alpha1.Statistics{{Values: []int64{4e5, 4e5}, ConfidenceLow: new(int64(4e5)), ConfidenceHigh: new(int64(4.1e5))}}
	doc.Results[0].Latency[1].Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtLoadNotReached}
	has(t, written(t, doc), " ?</text>", ">95 % interval of the limit</text>", fmt.Sprintf("n = 3 loads, frames that arrived. In doubt: %s.", doc.Results[0].Latency[1].Load), ">load, kfps of the forward direction</text>", ">offered load, kfps of the forward direction</text>")
}

// hostile would be markup, an attribute, a link and a shell command where a text is not escaped.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)" onclick=x>$(touch /tmp/x)</style></title></svg>--><!--` + "\x00\x1b[2J"

// fill sets each text of a value to the hostile one, and makes something of what is nil or empty.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Pointer:
		if v.IsNil() && depth < 14 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		if v.Len() == 0 && depth < 14 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(hostile).Convert(v.Type().Key()), element)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if v.Int() == 0 {
			v.SetInt(7)
		}
	}
}

// TestHostileDocument checks that no text of a document can be markup, an address or a command: with every field filled, with and
// without the trials of a real run, and with a run whose names are hostile everywhere, so that all pictures are drawn.
func TestHostileDocument(t *testing.T) {
	var empty report.Document
	fill(reflect.ValueOf(&empty).Elem(), 0)
	has(t, written(t, empty), "&lt;script&gt;")
	real := copied(t, made(t))
	fill(reflect.ValueOf(&real).Elem(), 0)
	has(t, written(t, real), "&lt;script&gt;")

	in := documenttest.Small()
	experiment := &in.Run.Spec.Experiment
	experiment.Measurements.Throughput.Goals[1].Name = hostile
	for i := range experiment.Measurements.Latency.Loads {
		load := &experiment.Measurements.Latency.Loads[i]
		load.Name += hostile
		if load.Goal != "" {
			load.Goal = hostile
		}
	}
	doc := documenttest.Make(t, in, hostile, nil)
	doc.Run.Name, doc.Run.Namespace = hostile, hostile
	doc.Experiment.Chain[0].Name = hostile
	text := written(t, doc)
	for _, caption := range captions {
		if caption != "Frame loss rate, 64 bytes" {
			has(t, text, "<figcaption>"+caption)
		}
	}
	has(t, text, "-n &#39;&#34;&#39;\\&#39;&#39;&gt;&lt;script&gt;")
}

// TestSize checks the bound of a page that the documentation states: with the fullest run and with a document that has more of everything.
func TestSize(t *testing.T) {
	const most = 4 << 20
	largest := documenttest.Largest(t)
	if n := len(written(t, largest)); n > most {
		t.Errorf("the page of the fullest run has %d bytes", n)
	} else {
		t.Logf("the page of the fullest run has %d bytes", n)
	}
	doc := copied(t, made(t))
	for range 20_000 {
		doc.Warnings = append(doc.Warnings, v1alpha1.Warning{Code: "Code", Message: "a message"})
	}
	frame := doc.Results[0]
	for i := range 3000 {
		frame.Size = fmt.Sprint("size-", i)
		doc.Results = append(doc.Results, frame)
	}
	text := written(t, doc)
	if len(text) > most {
		t.Errorf("the page of a document with too much has %d bytes", len(text))
	}
	has(t, text, "more lines are left out here")
}

// TestChains checks the pictures of chains of each length, in pods and in virtual machines.
func TestChains(t *testing.T) {
	for functions := range 9 {
		for _, in := range []plan.Input{plantest.Input(functions), plantest.VMInput(functions)} {
			doc := report.Document{Experiment: in.Run.Spec.Experiment, Plan: &v1alpha1.PlanSummary{GeneratorNode: "a", DeviceNode: []string{"a", "b"}[functions%2]}}
			if got := strings.Contains(written(t, doc), "What the frames pass"); got != (functions > 0) {
				t.Errorf("a chain of %d is drawn: %v", functions, got)
			}
		}
	}
	if page.Style == "" {
		t.Error("there is no style sheet")
	}
}
