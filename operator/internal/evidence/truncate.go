package evidence

import (
	"encoding/json"

	"vnfbench.io/operator/internal/measure"
)

// Bytes returns the size of evidence in its record.
func Bytes(e *measure.Evidence) int {
	if e == nil {
		return 0
	}
	text, err := json.Marshal(e)
	if err != nil {
		// Strings, integers and maps of them always marshal.
		panic(err)
	}
	return len(`"evidence":,`) + len(text)
}

// Truncate returns the evidence in at most maxBytes bytes: the first of these forms that fits, or
// nil. It first leaves out ports that dropped nothing, then counters and all notes but one,
// then the functions.
func Truncate(e *measure.Evidence, maxBytes int) *measure.Evidence {
	for _, shorten := range []func(*measure.Evidence){
		nil,
		func(e *measure.Evidence) {
			for i := range e.Functions {
				var lossy []measure.PortEvidence
				for _, p := range e.Functions[i].Ports {
					if p.ReceiveDroppedFrames+p.SendDroppedFrames > 0 {
						lossy = append(lossy, p)
					}
				}
				e.Functions[i].Ports = lossy
			}
		},
		func(e *measure.Evidence) {
			for i := range e.Functions {
				e.Functions[i].Counters = nil
			}
			e.Notes = e.Notes[:min(len(e.Notes), 1)]
		},
		func(e *measure.Evidence) { e.Functions = nil },
	} {
		if shorten != nil {
			shorter := *e
			shorter.Functions = append([]measure.FunctionEvidence(nil), e.Functions...)
			shorten(&shorter)
			shorter.Shortened = true
			e = &shorter
		}
		if Bytes(e) <= maxBytes {
			return e
		}
	}
	return nil
}
