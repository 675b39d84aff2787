package trex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/replay"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// simulator simulates the API of a TRex with two ports, in real time: what one port sends
// the other receives. It behaves as the recordings of TRex do: an unsorted list of ports,
// counters per group that begin at 0 with new streams, no streams while it sends,
// refusals in its own words.
type simulator struct {
	*replay.Server
	script *replay.Script

	mutex sync.Mutex
	macs  [2]string // by port number
	// addresses are PCI addresses by port number.
	addresses [2]string
	// stretch is how many times longer than requested everything takes.
	stretch float64
	// coarse servers have no HdrHistogram.
	coarse bool
	// linkDown is the number of a port whose link is down, or -1.
	linkDown int
	// every n-th packet of a group is lost; 0 means none.
	loseEvery uint64
	// unmarked packets lose what they are counted by.
	unmarked bool
	// trickle has half of the packets arrive, and one more with each reading.
	trickle  bool
	readings uint64
	// stuck continues to send after a stop.
	stuck bool
	// extra happens at the ports in each job.
	extra        func(s *simulator)
	inErrors     [2]uint64
	outErrors    [2]uint64
	queueFull    uint64
	cpu          float64
	duplicates   uint64
	outOfOrder   uint64
	strays       uint64
	versions     uint64
	restarts     int
	restartFails error
	ports        [2]simulatedPort
}

type simulatedPort struct {
	streams map[int]simulatedStream
	started time.Time
	ended   time.Time // zero while it sends
	sending bool
	job     int
}

type simulatedStream struct {
	stream
	version uint64
}

func newSimulator(t *testing.T) *simulator {
	s := &simulator{
		macs: [2]string{"02:00:00:00:00:01", "02:00:00:00:00:02"}, addresses: [2]string{"N/A", "N/A"}, stretch: 1, linkDown: -1,
		ports: [2]simulatedPort{{streams: map[int]simulatedStream{}}, {streams: map[int]simulatedStream{}}},
	}
	s.script = replay.NewScript(t, rpc.STL, 2)
	for method, answer := range map[string]func(replay.Call) replay.Answer{
		"get_system_info": s.systemInfo, "get_port_status": s.portStatus,
		"add_stream": s.addStream, "remove_all_streams": s.removeStreams,
		"start_traffic": s.start, "stop_traffic": s.stop,
		"get_pgid_stats": s.pgidStats, "get_port_stats": s.portStats, "get_global_stats": s.globalStats,
	} {
		s.script.On(method, answer)
	}
	s.Server = replay.New(t, s.script)
	return s
}

// Alive and Restart make it a Server.
func (s *simulator) Alive() error { return nil }

func (s *simulator) Restart(context.Context) error {
	if s.restartFails != nil {
		return s.restartFails
	}
	s.mutex.Lock()
	s.restarts++
	for i := range s.ports {
		s.ports[i] = simulatedPort{streams: map[int]simulatedStream{}, job: s.ports[i].job + 1}
	}
	s.mutex.Unlock()
	s.Server.Restart()
	return nil
}

func (s *simulator) systemInfo(replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	port := func(n int) map[string]any {
		return map[string]any{"index": n, "hw_mac": s.macs[n], "pci_addr": s.addresses[n], "driver": "net_af_packet", "is_virtual": true}
	}
	return replay.Result(map[string]any{"dp_core_count": 1, "port_count": 2, "ports": []any{port(1), port(0)}})
}

func (s *simulator) portStatus(c replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n := int(c.Number("port_id"))
	state := "IDLE"
	if s.ports[n].sending {
		state = "TX"
	} else if len(s.ports[n].streams) > 0 {
		state = "STREAMS"
	}
	return replay.Result(map[string]any{"state": state, "attr": map[string]any{"speed": 10.0, "link": map[string]any{"up": n != s.linkDown}}})
}

func refuse(format string, args ...any) replay.Answer {
	return replay.Refuse(rpc.CodeExecute, fmt.Sprintf(format, args...))
}

func (s *simulator) addStream(c replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := &s.ports[c.Number("port_id")]
	if p.sending {
		return refuse("command 'add_stream' cannot be executed on current state: 'TX on profile_id(_).")
	}
	var given stream
	if err := json.Unmarshal(c.Params["stream"], &given); err != nil {
		return refuse("%v", err)
	}
	if n := len(given.Packet.Binary); n < 14 || n > 9238 {
		return refuse("Bad packet size provided: %d. Should be between 14 and 9238", n)
	}
	if given.Mode.Rate.Value <= 0 {
		return refuse("Rate value should be positive.")
	}
	s.versions++
	p.started = time.Time{}
	p.streams[int(c.Number("stream_id"))] = simulatedStream{given, s.versions}
	return replay.Result(map[string]any{})
}

func (s *simulator) removeStreams(c replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := &s.ports[c.Number("port_id")]
	if p.sending {
		return refuse("command 'remove_and_delete_all_streams' cannot be executed on current state: 'TX on profile_id(_).")
	}
	if c.Text("profile_id") == "_" {
		clear(p.streams)
	}
	return replay.Result(map[string]any{})
}

func (s *simulator) start(c replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n := int(c.Number("port_id"))
	p := &s.ports[n]
	if len(p.streams) == 0 || p.sending {
		return refuse("command 'start' cannot be executed on current state: 'IDLE on profile_id(_).")
	}
	p.started, p.ended, p.sending = time.Now(), time.Time{}, true
	p.job++
	job, last, endless := p.job, time.Duration(0), false
	for _, one := range p.streams {
		if one.Mode.Type == continuous {
			endless = true
			continue
		}
		seconds := one.ISG/1e6 + float64(one.Mode.TotalPackets-1)/one.Mode.Rate.Value
		last = max(last, time.Duration(seconds*s.stretch*float64(time.Second)))
	}
	if s.extra != nil {
		s.extra(s)
	}
	s.script.Publish(rpc.ProfileStarted, map[string]any{"port_id": n, "profile_id": "_"})
	s.script.Publish(rpc.PortStarted, map[string]any{"port_id": n})
	if !endless {
		time.AfterFunc(last+time.Millisecond, func() { s.end(n, job, rpc.ProfileJobDone, rpc.PortJobDone) })
	}
	return replay.Result(map[string]any{"multiplier": 1.0, "ts": 1.0})
}

func (s *simulator) end(n, job int, profile, port rpc.EventType) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := &s.ports[n]
	if !p.sending || p.job != job {
		return
	}
	p.sending, p.ended = false, time.Now()
	s.script.Publish(profile, map[string]any{"port_id": n, "profile_id": "_"})
	s.script.Publish(port, map[string]any{"port_id": n})
}

func (s *simulator) stop(c replay.Call) replay.Answer {
	n := int(c.Number("port_id"))
	s.mutex.Lock()
	job, stuck := s.ports[n].job, s.stuck
	s.mutex.Unlock()
	if !stuck {
		s.end(n, job, rpc.ProfileStopped, rpc.PortStopped)
	}
	return replay.Result(map[string]any{})
}

// sent returns how many packets of a stream have left.
func (s *simulator) sent(p *simulatedPort, one simulatedStream) uint64 {
	if p.started.IsZero() {
		return 0
	}
	until := p.ended
	if until.IsZero() {
		until = time.Now()
	}
	at := until.Sub(p.started).Seconds()/s.stretch - one.ISG/1e6
	if at < 0 {
		return 0
	}
	n := uint64(at*one.Mode.Rate.Value) + 1
	if one.Mode.Type == singleBurst {
		n = min(n, one.Mode.TotalPackets)
	}
	return n
}

// delayMicroseconds returns the delay of the n-th packet of a group: 20 to 29.
func delayMicroseconds(n uint64) int64 { return 20 + int64(n%10) }

func (s *simulator) pgidStats(c replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var wanted []int
	if err := json.Unmarshal(c.Params["pgids"], &wanted); err != nil {
		return replay.Refuse(rpc.CodeInvalidParams, "field 'pgids' value is null")
	}
	flows, latency, versions := map[string]any{}, map[string]any{"g": nil}, map[string]any{}
	if s.strays > 0 {
		latency["g"] = map[string]any{"old_flow": s.strays}
	}
	for _, group := range wanted {
		name := strconv.Itoa(group)
		tp, rp := map[string]uint64{"0": 0, "1": 0}, map[string]uint64{"0": 0, "1": 0}
		for n := range s.ports {
			for _, one := range s.ports[n].streams {
				if one.FlowStats.StreamID != group {
					continue
				}
				versions[name] = one.version
				sent := s.sent(&s.ports[n], one)
				received := sent
				if s.loseEvery > 0 {
					received -= sent / s.loseEvery
				}
				if s.trickle {
					s.readings++
					received = min(sent, sent/2+s.readings)
				}
				if s.unmarked && one.FlowStats.RuleType == countRule {
					received = 0
				}
				tp[strconv.Itoa(n)] += sent
				rp[strconv.Itoa(1-n)] += received
				if one.FlowStats.RuleType == timeRule {
					latency[name] = s.timing(received)
					rp[strconv.Itoa(1-n)] += min(s.duplicates, received)
				}
			}
		}
		flows[name] = map[string]any{"tp": tp, "rp": rp, "tb": tp, "rb": rp}
	}
	return replay.Result(map[string]any{"flow_stats": flows, "latency": latency, "ver_id": versions})
}

func (s *simulator) timing(received uint64) map[string]any {
	histogram := hdrhistogram.New(1, 10_000_000, 3)
	for n := range received {
		if err := histogram.RecordValue(delayMicroseconds(n)); err != nil {
			panic(err)
		}
	}
	lat := map[string]any{"total_min": 20, "total_max": 29, "jit": 3, "average": 24.0, "last_max": 29, "histogram": map[string]uint64{"20": received}}
	if !s.coarse {
		text, err := histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			panic(err)
		}
		lat["hdrh"] = string(text)
	}
	out := map[string]any{"lat": lat}
	if s.duplicates+s.outOfOrder > 0 && received > 0 {
		out["er"] = map[string]any{"dup": min(s.duplicates, received), "ooo": s.outOfOrder, "sth": 1, "stl": 1}
	}
	return out
}

func (s *simulator) portStats(c replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n := c.Number("port_id")
	return replay.Result(map[string]any{"oerrors": s.outErrors[n], "ierrors": s.inErrors[n], "opackets": 1, "ipackets": 1, "m_cpu_util": 0.0})
}

func (s *simulator) globalStats(replay.Call) replay.Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return replay.Result(map[string]any{"m_total_queue_full": s.queueFull, "m_cpu_util": 1.0, "m_cpu_util_raw": s.cpu})
}

// with changes the simulator while no request runs.
func (s *simulator) with(change func(s *simulator)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s)
}

func (s *simulator) config(directions ...measure.Direction) Config {
	if len(directions) == 0 {
		directions = []measure.Direction{measure.Forward, measure.Reverse}
	}
	path := measure.Path{Ports: [2]measure.Port{{Interface: "west"}, {Interface: "east"}}}
	for _, d := range directions {
		path.Streams = append(path.Streams, streamTo(d))
	}
	return Config{Path: path, Settings: planning.Settings{Mode: planning.DPDK, CoresPerPort: 1}, Server: s, ProbeTimeout: 3 * time.Second}
}

func streamTo(d measure.Direction) measure.Stream {
	s := measure.Stream{
		Direction: measure.Forward, SourceMAC: "02:00:00:00:00:01", DestinationMAC: "02:00:00:00:01:01",
		SourceAddress: netip.MustParseAddr("198.18.0.2"), DestinationAddress: netip.MustParseAddr("198.19.0.2"),
		SourcePort: 1024, DestinationPort: 7,
	}
	if d == measure.Reverse {
		s.Direction, s.SourceMAC, s.DestinationMAC = d, "02:00:00:00:00:02", "02:00:00:00:01:02"
		s.SourceAddress, s.DestinationAddress = s.DestinationAddress, s.SourceAddress
	}
	return s
}

func openOn(t *testing.T, c Config) *Driver {
	t.Helper()
	d, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

var errNoStart = errors.New("the program is gone")
