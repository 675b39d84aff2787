package procedure

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// byTRex has the generator make the connections itself.
func byTRex(streams ...int32) measure.Instructions {
	instr := tcpOnly(streams...)
	instr.Stateful = &measure.Stateful{}
	return instr
}

func trexRecord(index int, cpu int64, doubts ...measure.Doubt) measure.Record {
	r := tcpRecord(index, 1, 0, 1_000_000_000)
	r.Outcome.Doubts = doubts
	for i := range r.Outcome.TCP.Ends {
		r.Outcome.TCP.Ends[i].Program = measure.Program{Name: measure.ProgramTRex, Version: "v3.08"}
	}
	for i := range r.Outcome.TCP.Directions {
		d := &r.Outcome.TCP.Directions[i]
		d.SenderCPUPartsPerMillion, d.ReceiverCPUPartsPerMillion = cpu, cpu
		d.RTTMinNanoseconds, d.RTTMeanNanoseconds, d.RTTMaxNanoseconds = 0, 0, 0
	}
	return r
}

// A generator with its own TCP is used on the chain's path, and a trial that it doubts is made
// again.
func TestTCPByTRex(t *testing.T) {
	instr := byTRex(1)
	instr.Repeats = 1
	drops := measure.Doubt{Code: measure.DoubtReceiveDrops, Detail: "port west dropped 5 packets", Invalid: true}
	records := []measure.Record{trexRecord(0, 1, drops)}
	step, err := Next(instr, records)
	if err != nil || step.Done || step.Path != PathStateful || step.Stage != measure.StageTCP {
		t.Fatalf("after an invalid trial: %+v, %v", step, err)
	}
	records = append(records, trexRecord(1, 990_000))
	if step, err := Next(instr, records); err != nil || !step.Done {
		t.Fatalf("after a valid one: %+v, %v", step, err)
	}
	figures := Results(instr, records)
	if got := figures.TCP.Streams[0].Directions[0]; got.GoodputBitsPerSecond != 1_000_000_000 || got.RoundTripTime != nil || got.Retransmits != 1 {
		t.Errorf("figures are %+v", got)
	}
	want := map[string]string{
		v1alpha1.WarningInvalidTrials:   "port west dropped 5 packets",
		v1alpha1.WarningEndpointCeiling: "the generator's threads, which are both ends, were busy for 99 %",
	}
	found := map[string]bool{}
	for _, w := range figures.Warnings {
		if words, known := want[w.Code]; !known || !strings.Contains(w.Message, words) {
			t.Errorf("warning %+v", w)
		}
		found[w.Code] = true
	}
	if len(found) != len(want) {
		t.Errorf("warnings are %+v", figures.Warnings)
	}
}

func TestTCPByTRexFails(t *testing.T) {
	instr := byTRex(1)
	drops := measure.Doubt{Code: measure.DoubtReceiveDrops, Detail: "port west dropped 5 packets", Invalid: true}
	var records []measure.Record
	for i := range MaximumInvalidTrials {
		records = append(records, trexRecord(i, 1, drops))
	}
	_, err := Next(instr, records)
	if measure.ReasonOf(err) != v1alpha1.ReasonGeneratorUnreliable || !strings.Contains(err.Error(), "load streams-1") {
		t.Errorf("got %v", err)
	}
}
