package contract

import (
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// TCP describes which trials a driver of bulk transfers supports.
type TCP struct {
	// SameClock says that both ends count by one clock, so that the receiver has at
	// most what the sender has sent in the time that counts.
	SameClock bool
}

var tcpParts = []part{
	{"sends by TCP in either direction", suite.eitherDirection},
	{"sends by TCP in both directions at once", suite.bothDirections},
	{"leaves out the begin of a transfer", suite.omits},
	{"refuses what cannot be a transfer", suite.invalidTransfer},
}

// transferTime is the minimum: its drivers count whole seconds.
const transferTime = time.Second

func (s suite) transfer(directions ...measure.Direction) measure.Trial {
	return measure.Trial{
		DurationNanoseconds: int64(transferTime), SettleNanoseconds: int64(10 * time.Millisecond),
		TCP: &measure.TCPTrial{Streams: 2, Directions: directions},
	}
}

func (s suite) eitherDirection(t *testing.T) {
	d := s.driver(t)
	for _, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
		s.measure(t, d, s.transfer(direction))
	}
}

func (s suite) bothDirections(t *testing.T) {
	s.measure(t, s.driver(t), s.transfer(measure.Forward, measure.Reverse))
}

func (s suite) omits(t *testing.T) {
	trial := s.transfer(measure.Forward)
	trial.TCP.OmitNanoseconds = int64(time.Second)
	outcome := s.measure(t, s.driver(t), trial)
	if least := trial.DurationNanoseconds + trial.TCP.OmitNanoseconds; outcome.TotalNanoseconds < least {
		t.Errorf("the whole trial took %v, less than %v", time.Duration(outcome.TotalNanoseconds), time.Duration(least))
	}
}

func (s suite) invalidTransfer(t *testing.T) {
	d := s.driver(t)
	for name, spoil := range map[string]func(*measure.TCPTrial){
		"no connection":        func(tcp *measure.TCPTrial) { tcp.Streams = 0 },
		"no direction":         func(tcp *measure.TCPTrial) { tcp.Directions = nil },
		"an unknown direction": func(tcp *measure.TCPTrial) { tcp.Directions = []measure.Direction{"Upward"} },
		"a direction twice":    func(tcp *measure.TCPTrial) { tcp.Directions = []measure.Direction{measure.Forward, measure.Forward} },
		"a negative begin":     func(tcp *measure.TCPTrial) { tcp.OmitNanoseconds = -1 },
		"an unknown algorithm": func(tcp *measure.TCPTrial) { tcp.CongestionControl = "nosuch" },
	} {
		trial := s.transfer(measure.Forward)
		spoil(trial.TCP)
		s.refuses(t, d, name, trial)
	}
	s.measure(t, d, s.transfer(measure.Forward))
}

// checkTCP checks what is true of every outcome of a bulk transfer.
func (s suite) checkTCP(t *testing.T, trial measure.Trial, o measure.Outcome) {
	t.Helper()
	if o.TCP == nil || o.Connections != nil || len(o.Directions) > 0 {
		t.Fatalf("the outcome is not one of TCP alone: %+v", o)
	}
	var directions []measure.Direction
	for _, d := range o.TCP.Directions {
		directions = append(directions, d.Direction)
		s.checkTransfer(t, trial, d)
	}
	if !slices.Equal(directions, trial.TCP.Directions) {
		t.Errorf("directions %v, want %v", directions, trial.TCP.Directions)
	}
	var ends []string
	for _, end := range o.TCP.Ends {
		ends = append(ends, end.Name)
		if end.Program.Name == "" || end.Program.Version == "" {
			t.Errorf("the %s end does not say what makes its connections", end.Name)
		}
	}
	if want := []string{measure.EndWest, measure.EndEast}; !slices.Equal(ends, want) {
		t.Errorf("ends %v, want %v", ends, want)
	}
}

func (s suite) checkTransfer(t *testing.T, trial measure.Trial, d measure.TCPDirectionOutcome) {
	t.Helper()
	if d.SentBytes <= 0 || d.ReceivedBytes <= 0 {
		t.Errorf("%s: %d bytes sent, %d received on a path that carries them", d.Direction, d.SentBytes, d.ReceivedBytes)
	}
	if s.TCP.SameClock && d.ReceivedBytes > d.SentBytes {
		t.Errorf("%s: received %d of %d sent bytes", d.Direction, d.ReceivedBytes, d.SentBytes)
	}
	for name, counted := range map[string]int64{"sender": d.SentNanoseconds, "receiver": d.ReceivedNanoseconds} {
		if least, most := trial.DurationNanoseconds/2, 2*trial.DurationNanoseconds+int64(time.Second); counted < least || counted > most {
			t.Errorf("%s: the %s counted %v of a trial of %v", d.Direction, name, time.Duration(counted), trial.Duration())
		}
	}
	if d.RTTMinNanoseconds > d.RTTMeanNanoseconds || d.RTTMeanNanoseconds > d.RTTMaxNanoseconds {
		t.Errorf("%s: round trip times do not rise: %d, %d, %d", d.Direction, d.RTTMinNanoseconds, d.RTTMeanNanoseconds, d.RTTMaxNanoseconds)
	}
	if n := len(d.Intervals); n == 0 || n > measure.MaximumTCPIntervals {
		t.Errorf("%s: %d intervals, want 1 to %d", d.Direction, n, measure.MaximumTCPIntervals)
	}
	for i, interval := range d.Intervals {
		if interval.Nanoseconds <= 0 || i > 0 && interval.StartNanoseconds <= d.Intervals[i-1].StartNanoseconds {
			t.Errorf("%s: interval %d has no length, or does not follow the one before: %+v", d.Direction, i, d.Intervals)
		}
	}
	if d.CongestionControl == "" || d.MaximumSegmentBytes <= 0 {
		t.Errorf("%s: congestion control %q with segments of %d bytes, want both known", d.Direction, d.CongestionControl, d.MaximumSegmentBytes)
	}
}
