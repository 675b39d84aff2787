package report

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestEndInWords(t *testing.T) {
	for want, end := range map[string]v1alpha1.TCPEnd{
		"TRex v3.08": {Tool: "TRex v3.08"},
		"iperf 3.12, MTU 1500 bytes, no offload on": {Tool: "iperf 3.12", MTUBytes: 1500},
		"iperf 3.12, MTU 9000 bytes, tso, gro on":   {Tool: "iperf 3.12", MTUBytes: 9000, Offloads: []string{"tso", "gro"}},
	} {
		if got := endInWords(end); got != want {
			t.Errorf("%+v is %q, want %q", end, got, want)
		}
	}
}
