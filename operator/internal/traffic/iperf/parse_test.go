package iperf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// recorded returns the output of iperf3 3.12 over loopback.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestParse parses two connections, 1 s omitted, 2 s counted.
func TestParse(t *testing.T) {
	got, err := Parse(measure.Forward, recorded(t, "sender"), recorded(t, "receiver"))
	if err != nil {
		t.Fatal(err)
	}
	want := measure.TCPDirectionOutcome{
		Direction: measure.Forward,
		SentBytes: 840171520, SentNanoseconds: 2_004_831_000,
		ReceivedBytes: 847773696, ReceivedNanoseconds: 1_925_750_000,
		Retransmits:       4,
		RTTMinNanoseconds: 412_000, RTTMeanNanoseconds: (2_128_000 + 1_583_000 + 1) / 2, RTTMaxNanoseconds: 3_885_000,
		SenderCPUPartsPerMillion: 67_335, ReceiverCPUPartsPerMillion: 50_935,
		MaximumSegmentBytes: 32768, CongestionControl: "bbr",
	}
	intervals := got.Intervals
	got.Intervals = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if got.GoodputBitsPerSecond() != 3_521_843_213 {
		t.Errorf("goodput is %d bits/s, iperf3 itself says 3521843213", got.GoodputBitsPerSecond())
	}
	// The omitted second is not an interval.
	if len(intervals) != 2 {
		t.Fatalf("%d intervals, want 2: %+v", len(intervals), intervals)
	}
	var bytes, retransmits int64
	for _, interval := range intervals {
		bytes, retransmits = bytes+interval.Bytes, retransmits+interval.Retransmits
	}
	if bytes != want.SentBytes || retransmits != want.Retransmits {
		t.Errorf("intervals add up to %d bytes and %d retransmits, the total says %d and %d", bytes, retransmits, want.SentBytes, want.Retransmits)
	}
}

// TestErrors checks that the output of a test that failed gives no figure, though it may have totals.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct{ sender, receiver, reason, says string }{
		"interrupted sender":   {"sender-interrupted", "receiver", v1alpha1.ReasonEndpointFailed, "interrupt - the client has terminated"},
		"interrupted receiver": {"sender", "receiver-interrupted", v1alpha1.ReasonEndpointFailed, "the client has terminated"},
		"no connection":        {"sender-no-connection", "receiver", v1alpha1.ReasonChainFailed, "unable to connect to server: Connection refused"},
		"unknown algorithm":    {"sender-congestion", "receiver", v1alpha1.ReasonTCPSettingRefused, "measurements.tcp.congestionControl"},
		"too large a window":   {"sender-window", "receiver", v1alpha1.ReasonTCPSettingRefused, "measurements.tcp.windowBytes"},
		"busy":                 {"sender-busy", "receiver", v1alpha1.ReasonEndpointFailed, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(measure.Forward, recorded(t, test.sender), recorded(t, test.receiver))
			if err == nil {
				t.Fatal("was taken for a result")
			}
			explained := explain(err, measure.TCPTrial{})
			if got := measure.ReasonOf(explained); got != test.reason || !strings.Contains(explained.Error(), test.says) {
				t.Errorf("is %s, want %s with %q: %v", got, test.reason, test.says, explained)
			}
			if isBusy(err) != (name == "busy") {
				t.Errorf("isBusy is %v", isBusy(err))
			}
		})
	}
}

func TestParseRefusesWhatIsCutShort(t *testing.T) {
	whole := recorded(t, "receiver")
	for name, text := range map[string][]byte{
		"nothing": nil, "half": whole[:len(whole)/2], "no end": []byte(`{"start": {}, "intervals": [], "end": {}}`),
	} {
		if _, err := Parse(measure.Forward, recorded(t, "sender"), text); err == nil {
			t.Errorf("%s: a receiver's output was taken for whole", name)
		}
		if _, err := Parse(measure.Forward, text, whole); err == nil {
			t.Errorf("%s: a sender's output was taken for whole", name)
		}
	}
}

func TestFirstIsTheCause(t *testing.T) {
	cause := errors.New("cause")
	if got := first([]error{nil, errCancelled(), cause}); !errors.Is(got, cause) {
		t.Errorf("got %v", got)
	}
	if first([]error{nil, nil}) != nil {
		t.Error("nothing failed")
	}
}
