package endpoint

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"vnfbench.io/operator/internal/measure"
)

const (
	// connectTimeout limits the opening of iperf3's control connection.
	connectTimeout = 5 * time.Second
	// silence is the timeout after which iperf3 gives up if no data is acknowledged,
	// or none arrives: a chain that died must not hold the run.
	silence = 20 * time.Second
	// slack is what a test may take in addition to its stated time.
	slack = silence + 10*time.Second
	// maxSeconds is the API's longest test with the omitted time.
	maxSeconds = 3600 + 60
)

// Server asks an agent for an iperf3 server that takes one test and ends.
type Server struct {
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port"`
	// Seconds is how long the test takes; the agent ends a server that is still there well after that.
	Seconds int `json:"seconds"`
}

// Client asks an agent to make one test to a server. The client sends.
type Client struct {
	// Address is that of this end, Server and Port are those of the other.
	Address         netip.Addr `json:"address"`
	Server          netip.Addr `json:"server"`
	Port            uint16     `json:"port"`
	Streams         int        `json:"streams"`
	DurationSeconds int        `json:"durationSeconds"`
	OmitSeconds     int        `json:"omitSeconds"`
	measure.TCPSettings
}

// Problem is an agent's refusal.
type Problem struct {
	Message string `json:"message"`
}

// Check returns why a machine cannot take the request. Requests are data from the
// network, and become arguments of a program.
func (s Server) Check(c *Config) error {
	switch {
	case !c.owns(s.Address):
		return fmt.Errorf("address: %q is not an address of this machine", s.Address)
	case s.Port < 1024:
		return fmt.Errorf("port: %d is below 1024", s.Port)
	case s.Seconds < 1 || s.Seconds > maxSeconds:
		return fmt.Errorf("seconds: %d is not between 1 and %d", s.Seconds, maxSeconds)
	}
	return nil
}

var algorithm = regexp.MustCompile(`^[a-z0-9_]{1,15}$`)

// Check returns why a machine cannot take the request.
func (r Client) Check(c *Config) error {
	switch {
	case !c.owns(r.Address):
		return fmt.Errorf("address: %q is not an address of this machine", r.Address)
	case !c.leadsTo(r.Server) || r.Server.Is4() != r.Address.Is4():
		return fmt.Errorf("server: %q is not on the other side of the chain from %q", r.Server, r.Address)
	case r.Port < 1024:
		return fmt.Errorf("port: %d is below 1024", r.Port)
	case r.Streams < 1 || r.Streams > MaximumStreams:
		return fmt.Errorf("streams: %d is not between 1 and %d", r.Streams, MaximumStreams)
	case r.DurationSeconds < 1 || r.DurationSeconds > maxSeconds || r.OmitSeconds < 0 || r.OmitSeconds > maxSeconds-r.DurationSeconds:
		return fmt.Errorf("durationSeconds, omitSeconds: %d and %d are too long or too short", r.DurationSeconds, r.OmitSeconds)
	case r.MSSBytes < 0 || r.WindowBytes < 0 || r.TargetBitsPerSecond < 0:
		return errors.New("mssBytes, windowBytes, targetBitsPerSecond: one is negative")
	case r.CongestionControl != "" && !algorithm.MatchString(r.CongestionControl):
		return fmt.Errorf("congestionControl: %q is not the name of an algorithm", r.CongestionControl)
	}
	return nil
}

// Arguments returns iperf3's arguments.
func (s Server) Arguments() []string {
	return []string{
		"--server", "--one-off", "--json", "--interval", interval(s.Seconds),
		"--bind", s.Address.String(), "--port", fmt.Sprint(s.Port), "--rcv-timeout", milliseconds(silence),
	}
}

// Lifetime returns the time after which an agent kills a server or a client.
func (s Server) Lifetime() time.Duration { return time.Duration(s.Seconds)*time.Second + slack }

// Arguments returns iperf3's arguments.
func (r Client) Arguments() []string {
	list := []string{
		"--client", r.Server.String(), "--port", fmt.Sprint(r.Port), "--bind", r.Address.String(), "--json",
		"--time", fmt.Sprint(r.DurationSeconds), "--omit", fmt.Sprint(r.OmitSeconds), "--parallel", fmt.Sprint(r.Streams),
		"--interval", interval(r.DurationSeconds),
		"--connect-timeout", milliseconds(connectTimeout), "--snd-timeout", milliseconds(silence),
	}
	if r.MSSBytes > 0 {
		list = append(list, "--set-mss", fmt.Sprint(r.MSSBytes))
	}
	if r.CongestionControl != "" {
		list = append(list, "--congestion", r.CongestionControl)
	}
	if r.WindowBytes > 0 {
		list = append(list, "--window", fmt.Sprint(r.WindowBytes))
	}
	if r.TargetBitsPerSecond > 0 {
		// iperf3 takes the rate of each connection.
		list = append(list, "--bitrate", fmt.Sprint(max(1, r.TargetBitsPerSecond/int64(r.Streams))))
	}
	return list
}

// Lifetime returns the time after which an agent kills the client.
func (r Client) Lifetime() time.Duration {
	return time.Duration(r.DurationSeconds+r.OmitSeconds)*time.Second + slack
}

// interval returns whole seconds, such that there are at most measure.MaximumTCPIntervals.
func interval(seconds int) string {
	return fmt.Sprint(max(1, (seconds+measure.MaximumTCPIntervals-1)/measure.MaximumTCPIntervals))
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
