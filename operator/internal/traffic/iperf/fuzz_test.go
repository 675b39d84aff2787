package iperf

import (
	"os"
	"path/filepath"
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/mutate"
)

// FuzzParse checks that no output of iperf3 causes a panic, and that figures are never below 0.
func FuzzParse(f *testing.F) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	for _, sender := range []string{"sender", "sender-busy", "sender-congestion", "sender-interrupted", "sender-no-connection", "sender-window"} {
		f.Add(read(sender), read("receiver"), []byte{}, []byte{})
		f.Add(read(sender), read("receiver-interrupted"), []byte{0, 90, 0, 8}, []byte{1, 4, 0, 9})
	}
	f.Fuzz(func(t *testing.T, client, server, clientEdits, serverEdits []byte) {
		d, err := Parse(measure.Forward, mutate.JSON(client, clientEdits), mutate.JSON(server, serverEdits))
		if err != nil {
			return
		}
		if d.SentBytes < 0 || d.ReceivedBytes < 0 || d.SentNanoseconds <= 0 || d.ReceivedNanoseconds <= 0 || d.Retransmits < 0 ||
			d.RTTMinNanoseconds < 0 || d.RTTMaxNanoseconds < d.RTTMinNanoseconds || d.SenderCPUPartsPerMillion < 0 || d.ReceiverCPUPartsPerMillion < 0 {
			t.Fatalf("the figures are %+v", d)
		}
		for _, interval := range d.Intervals {
			if interval.Nanoseconds <= 0 || interval.Bytes < 0 || interval.StartNanoseconds < 0 || interval.Retransmits < 0 {
				t.Fatalf("an interval is %+v", interval)
			}
		}
	})
}
