package report

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestEndInWords(t *testing.T) {
	for want, end := range map[string]v1alpha1.TCPEnd{
		"TRex v3.08": {Program: &v1alpha1.Program{Name: v1alpha1.ProgramTRex, Version: "v3.08"}},
		"iperf3 3.12, MTU 1500 bytes, no offload on": {Program: &v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: "3.12"}, MTUBytes: 1500},
		"iperf3 3.12, MTU 9000 bytes, tso, gro on":   {Program: &v1alpha1.Program{Name: v1alpha1.ProgramIperf3, Version: "3.12"}, MTUBytes: 9000, Offloads: []string{"tso", "gro"}},
	} {
		if got := endInWords(end); got != want {
			t.Errorf("%+v is %q, want %q", end, got, want)
		}
	}
}
