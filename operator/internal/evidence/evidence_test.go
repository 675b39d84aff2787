//go:build linux

package evidence

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/vnf"
)

var started = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// pods give the answers that a test sets, each at its own address.
type pods struct {
	mu      sync.Mutex
	answers map[string]any
}

func (p *pods) say(path string, answer any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[path] = answer
}

func newPods(t *testing.T) (*pods, string) {
	p := &pods{answers: map[string]any{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		answer, found := p.answers[r.URL.Path]
		p.mu.Unlock()
		switch answer := answer.(type) {
		case func(http.ResponseWriter, *http.Request):
			answer(w, r)
		case string:
			fmt.Fprint(w, answer)
		default:
			if !found {
				http.NotFound(w, r)
				return
			}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(server.Close)
	return p, strings.TrimPrefix(server.URL, "http://")
}

func snapshot(elapsed time.Duration, softirq, vhost int64) observer.Snapshot {
	return observer.Snapshot{
		StartedAt: started, ElapsedNanoseconds: int64(elapsed), CPUs: 4,
		Node:                       measure.CPUTime{UserMilliseconds: 100, SoftirqMilliseconds: softirq, IdleMilliseconds: 9000 + elapsed.Milliseconds()},
		SoftirqThreadsMilliseconds: new(softirq / 10),
		Guests: []observer.GuestTime{{Name: "benchmarks_fw", Process: 7, StartTicks: 1, DomainTime: measure.DomainTime{
			VCPUMilliseconds: new(vhost * 2), VhostMilliseconds: new(vhost),
		}}},
	}
}

// answer returns a function's document.
func answer(elapsed time.Duration, frames, dropped, softirq uint64, matches int64) vnf.Status {
	const millisecond = uint64(time.Millisecond)
	return vnf.Status{
		Version: vnf.StatusVersion, Function: "Router", Name: "x", StartedAt: started, Ready: true,
		Ports: []vnf.PortStatus{
			{Name: "west", Counters: &vnf.PortCounters{RxPackets: frames, RxDropped: dropped, RxErrors: dropped, TxPackets: 2}},
			{Name: "east", Counters: &vnf.PortCounters{TxPackets: frames - dropped}},
			{Name: "gone", Problem: "there is none"},
		},
		FunctionStatus: vnf.FunctionStatus{
			State:    vnf.State{Firewall: &vnf.FirewallState{Implementation: "nf_tables", Rules: 25, LoadMilliseconds: 40}},
			Counters: map[string]int64{vnf.CounterMatchedPackets: matches, vnf.CounterUnmatchedPackets: 3},
		},
		CPU: &vnf.CPUUsage{
			ElapsedNanoseconds: int64(elapsed),
			Container:          &vnf.ContainerTime{UserNanoseconds: softirq * millisecond, SystemNanoseconds: 3 * millisecond},
			Node: []vnf.ProcessorTime{
				{Processor: 0, CPUTimes: vnf.CPUTimes{SoftirqNanoseconds: softirq * millisecond, StealNanoseconds: 20 * millisecond}},
				{Processor: 1, CPUTimes: vnf.CPUTimes{SoftirqNanoseconds: softirq * millisecond, UserNanoseconds: softirq * millisecond}},
			},
		},
	}
}

// unread returns an answer of a function that could not read its counters.
func unread(status vnf.Status) vnf.Status {
	status.Counters, status.CountersProblem = nil, "no memory"
	return status
}

func TestBetween(t *testing.T) {
	node, observerAddress := newPods(t)
	pod, podAddress := newPods(t)
	guest, guestAddress := newPods(t)
	c := New(measure.Sources{Observer: observerAddress, Functions: []measure.FunctionSource{
		{Name: "r1", Address: podAddress}, {Name: "fw", Address: guestAddress, Guest: "benchmarks_fw"},
	}}, "")
	defer c.Close()
	node.say(observer.PathSnapshot, snapshot(10*time.Second, 500, 40))
	pod.say("/status", answer(10*time.Second, 100, 0, 100, 7))
	guest.say("/status", answer(20*time.Second, 100, 1, 100, 7))
	before := c.Before(t.Context())
	node.say(observer.PathSnapshot, snapshot(11*time.Second, 1400, 640))
	pod.say("/status", answer(11*time.Second, 1100, 0, 120, 7))
	guest.say("/status", answer(21010*time.Millisecond, 1100, 4, 500, 1007))
	got := c.Between(before, c.After(t.Context(), 0), time.Second)
	want := &measure.Evidence{
		ElapsedMilliseconds: 1000, CPUs: 4,
		Node: &measure.CPUTime{SoftirqMilliseconds: 900, IdleMilliseconds: 1000}, SoftirqThreadsMilliseconds: new(int64(90)),
		Functions: []measure.FunctionEvidence{
			{
				Name: "r1", ElapsedMilliseconds: 1000, Process: &measure.CPUTime{UserMilliseconds: 20},
				Ports:    []measure.PortEvidence{{Name: "west", ReceivedFrames: 1000}, {Name: "east", SentFrames: 1000}},
				Counters: map[string]int64{vnf.CounterMatchedPackets: 0, vnf.CounterUnmatchedPackets: 0},
			},
			{
				Name: "fw", ElapsedMilliseconds: 1010, Guest: &measure.CPUTime{UserMilliseconds: 400, SoftirqMilliseconds: 800},
				Domain: &measure.DomainTime{VCPUMilliseconds: new(int64(1200)), VhostMilliseconds: new(int64(600))},
				// Three dropped and three errors.
				Ports:    []measure.PortEvidence{{Name: "west", ReceivedFrames: 1000, ReceiveDroppedFrames: 6}, {Name: "east", SentFrames: 997}},
				Counters: map[string]int64{vnf.CounterMatchedPackets: 1000, vnf.CounterUnmatchedPackets: 0},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSilentFunction checks that a user's own machine is not asked and not missed. What its hypervisor
// used is still known.
func TestSilentFunction(t *testing.T) {
	node, observerAddress := newPods(t)
	c := New(measure.Sources{Observer: observerAddress, Functions: []measure.FunctionSource{{Name: "own", Guest: "benchmarks_fw"}}}, "")
	defer c.Close()
	node.say(observer.PathSnapshot, snapshot(10*time.Second, 500, 40))
	before := c.Before(t.Context())
	node.say(observer.PathSnapshot, snapshot(11*time.Second, 1400, 640))
	got := c.Between(before, c.After(t.Context(), 0), time.Second)
	want := []measure.FunctionEvidence{{
		Name: "own", ElapsedMilliseconds: 1000,
		Domain: &measure.DomainTime{VCPUMilliseconds: new(int64(1200)), VhostMilliseconds: new(int64(600))},
	}}
	if diff := cmp.Diff(want, got.Functions); diff != "" || len(got.Notes) > 0 {
		t.Errorf("notes %q; functions (-want +got):\n%s", got.Notes, diff)
	}
	node.say(observer.PathNode, observer.Node{})
	if device := c.Device(t.Context()); len(device.Problems) > 0 || len(device.Functions) > 0 {
		t.Errorf("asked what it is: problems %q, functions %v", device.Problems, device.Functions)
	}
}

// TestMissing checks that what does not answer as it should is missing and named; the others are present.
func TestMissing(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	again := answer(2*time.Second, 200, 0, 100, 0)
	again.StartedAt = started.Add(time.Hour)
	newer := answer(2*time.Second, 200, 0, 100, 0)
	newer.Version++
	restarted := snapshot(time.Second, 600, 40)
	restarted.StartedAt = started.Add(time.Hour)
	replaced := snapshot(11*time.Second, 600, 40)
	replaced.Guests[0].StartTicks = 99
	for name, test := range map[string]struct {
		node, function any
		note           string
		noNode, noFunc bool
	}{
		"all is well":                {node: snapshot(11*time.Second, 600, 40), function: answer(time.Second*2, 200, 0, 100, 0)},
		"the observer hangs":         {node: hang, function: answer(time.Second*2, 200, 0, 100, 0), note: "the observer did not answer: it took too long", noNode: true},
		"the function hangs":         {node: snapshot(11*time.Second, 600, 40), function: hang, note: "function r1 did not answer: it took too long", noFunc: true},
		"no JSON":                    {node: "<html>", function: answer(time.Second*2, 200, 0, 100, 0), note: "the observer did not answer: invalid character", noNode: true},
		"an endless answer":          {node: strings.Repeat(" ", maxAnswerBytes+1), function: answer(time.Second*2, 200, 0, 100, 0), note: "longer than 262144 bytes", noNode: true},
		"an error":                   {node: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, function: again, note: "HTTP 500", noNode: true, noFunc: true},
		"a redirect":                 {node: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, function: again, note: "HTTP 302", noNode: true, noFunc: true},
		"the function started again": {node: snapshot(11*time.Second, 600, 40), function: again, note: "function r1 was started again", noFunc: true},
		"the observer started again": {node: restarted, function: answer(time.Second*2, 200, 0, 100, 0), note: "the observer was started again", noNode: true},
		"the guest started again":    {node: replaced, function: answer(time.Second*2, 200, 0, 100, 0), note: "virtual machine benchmarks_fw was started again"},
		"a late function":            {node: snapshot(11*time.Second, 600, 40), function: answer(time.Second*4, 200, 0, 100, 0), note: "function r1: it was looked at over 3000 ms, of which frames were sent in 1000 ms"},
		"counters cannot be read":    {node: snapshot(11*time.Second, 600, 40), function: unread(answer(time.Second*2, 200, 0, 100, 0)), note: "function r1: it is not known what it counted: no memory"},
		"a newer function":           {node: snapshot(11*time.Second, 600, 40), function: newer, note: "function r1 did not answer: its status has version 2, want 1: use a function's image", noFunc: true},
		"a late look":                {node: snapshot(14*time.Second, 600, 40), function: answer(time.Second*2, 200, 0, 100, 0), note: "looked at over 4000 ms, of which frames were sent in 1000 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			node, observerAddress := newPods(t)
			pod, address := newPods(t)
			c := New(measure.Sources{Observer: observerAddress, Functions: []measure.FunctionSource{{Name: "r1", Address: address}}}, "")
			defer c.Close()
			node.say(observer.PathSnapshot, snapshot(10*time.Second, 500, 40))
			pod.say("/status", answer(time.Second, 100, 0, 100, 0))
			before := c.Before(t.Context())
			node.say(observer.PathSnapshot, test.node)
			pod.say("/status", test.function)
			if name == "the function hangs" {
				shortenTimeout(t, 200*time.Millisecond)
			}
			begun := time.Now()
			after := c.After(t.Context(), 0)
			if took := time.Since(begun); took > answerTimeout+functionTimeout+10*time.Second {
				t.Errorf("the look took %v", took)
			}
			got := c.Between(before, after, time.Second)
			if (got.Node == nil) != test.noNode || (len(got.Functions) == 0) != test.noFunc {
				t.Errorf("%+v", got)
			}
			if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
				t.Errorf("notes %q, want %q", notes, test.note)
			}
			for _, n := range got.Notes {
				if len(n) > maxNoteBytes || strings.Contains(n, "\n") {
					t.Errorf("%q", n)
				}
			}
		})
	}
}

// shortenTimeout shortens how long a function may take to answer.
func shortenTimeout(t *testing.T, timeout time.Duration) {
	before := functionTimeout
	functionTimeout = timeout
	t.Cleanup(func() { functionTimeout = before })
}

// TestAnswersLate checks that a function may answer while the trial settles, if it first has to
// forward the frames that it received. The node is read without waiting for it.
func TestAnswersLate(t *testing.T) {
	node, observerAddress := newPods(t)
	guest, address := newPods(t)
	c := New(measure.Sources{Observer: observerAddress, Functions: []measure.FunctionSource{{Name: "fw", Address: address, Guest: "benchmarks_fw"}}}, "")
	defer c.Close()
	node.say(observer.PathSnapshot, snapshot(10*time.Second, 500, 40))
	guest.say("/status", answer(10*time.Second, 100, 0, 100, 7))
	before := c.Before(t.Context())
	shortenTimeout(t, 10*time.Millisecond)
	node.say(observer.PathSnapshot, snapshot(11*time.Second, 1400, 640))
	busy := answer(14*time.Second, 1100, 0, 500, 1007)
	guest.say("/status", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(300 * time.Millisecond)
		_ = json.NewEncoder(w).Encode(busy)
	})
	got := c.Between(before, c.After(t.Context(), time.Minute), time.Second)
	if len(got.Functions) != 1 || got.Functions[0].Counters[vnf.CounterMatchedPackets] != 1000 || got.Functions[0].Guest == nil || got.Functions[0].Domain == nil {
		t.Errorf("%+v", got.Functions)
	}
	if got.ElapsedMilliseconds != 1000 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "looked at over 4000 ms") {
		t.Errorf("%d ms, notes %q", got.ElapsedMilliseconds, got.Notes)
	}
	// A function that does not settle is not waited for: what the hypervisor used is known all
	// the same.
	got = c.Between(before, c.After(t.Context(), 0), time.Second)
	if len(got.Functions) != 1 || got.Functions[0].Counters != nil || got.Functions[0].Domain == nil || len(got.Notes) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestCountersThatWereNotRead checks that counters that could only be read after the trial are not
// taken for what the trial counted.
func TestCountersThatWereNotRead(t *testing.T) {
	pod, address := newPods(t)
	c := New(measure.Sources{Functions: []measure.FunctionSource{{Name: "fw", Address: address}}}, "")
	defer c.Close()
	pod.say("/status", unread(answer(time.Second, 100, 0, 100, 0)))
	before := c.Before(t.Context())
	pod.say("/status", answer(2*time.Second, 200, 0, 100, 5000))
	got := c.Between(before, c.After(t.Context(), 0), time.Second)
	if got.Functions[0].Counters != nil || len(got.Notes) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestGivesUp checks that a pod that cannot be reached does not slow down every trial, and one that is late only at
// times is asked again.
func TestGivesUp(t *testing.T) {
	node, address := newPods(t)
	c := New(measure.Sources{Observer: address}, "")
	defer c.Close()
	asked := 0
	fails := func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
	node.say(observer.PathSnapshot, fails)
	for range maxMisses - 1 {
		c.After(t.Context(), 0)
	}
	node.say(observer.PathSnapshot, snapshot(time.Second, 1, 1))
	if look := c.After(t.Context(), 0); look.node == nil {
		t.Errorf("%+v", look)
	}
	node.say(observer.PathSnapshot, fails)
	asked = 0
	for range 3 * maxMisses {
		if look := c.After(t.Context(), 0); look.node != nil || len(look.problems) != 1 {
			t.Errorf("%+v", look)
		}
	}
	if asked != maxMisses || !strings.Contains(c.After(t.Context(), 0).problems[0], "no longer asked") {
		t.Errorf("asked %d times, want %d", asked, maxMisses)
	}
}

func TestDevice(t *testing.T) {
	node, address := newPods(t)
	node.say(observer.PathNode, observer.Node{Facts: measure.NodeFacts{OnlineCPUs: 4}, Domains: []measure.Domain{{Name: "x"}}, Problems: []string{"p"}})
	c := New(measure.Sources{Observer: address}, "")
	defer c.Close()
	got := c.Device(t.Context())
	if got.Node == nil || got.Node.OnlineCPUs != 4 || len(got.Domains) != 1 || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	node.say(observer.PathNode, observer.Node{Domains: slices.Repeat([]measure.Domain{{MachineType: strings.Repeat("x", 40)}}, 3000), CycleCounter: "Counted"})
	if got := c.Device(t.Context()); got.Domains != nil || got.CycleCounter != "Counted" || len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "is left out") {
		t.Errorf("%+v", got)
	}
	node.say(observer.PathNode, "nonsense")
	if got := c.Device(t.Context()); got.Node != nil || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	none := New(measure.Sources{}, "")
	if got := none.Device(t.Context()); got.Node != nil || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	if got := none.Between(none.Before(t.Context()), none.After(t.Context(), 0), time.Second); got.Node != nil || len(got.Notes) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestDeviceFunctions checks that functions are asked once what they are; one that does not answer is named.
func TestDeviceFunctions(t *testing.T) {
	whole, wholeAddress := newPods(t)
	bare, bareAddress := newPods(t)
	odd, oddAddress := newPods(t)
	_, silentAddress := newPods(t)
	whole.say("/status", vnf.Status{Version: vnf.StatusVersion, FunctionStatus: vnf.FunctionStatus{State: vnf.State{
		// A function of another origin may report what the API does not accept.
		Firewall:          &vnf.FirewallState{Implementation: strings.Repeat("x", 40), Rules: -25, Elements: -3, LoadMilliseconds: 40},
		EncryptionGateway: &vnf.EncryptionGatewayState{Protocol: vnf.ProtocolWireGuard, Implementation: vnf.ImplementationUserspace, Threads: 2, TunnelMTUBytes: 1500},
	}}})
	bare.say("/status", `{"version":1,"name":"r1","firewall":null,"later":{"x":1}}`)
	odd.say("/status", `{"version":1,"firewall":{"rules":"many"}}`)
	c := New(measure.Sources{Functions: []measure.FunctionSource{
		{Name: "silent", Address: silentAddress}, {Name: "gw", Address: wholeAddress}, {Name: "r1", Address: bareAddress}, {Name: "odd", Address: oddAddress},
	}}, "")
	defer c.Close()
	got := c.Device(t.Context())
	want := []measure.FunctionState{
		{
			Name: "gw",
			State: vnf.State{
				Firewall:          &vnf.FirewallState{Implementation: strings.Repeat("x", 29) + "...", LoadMilliseconds: 40},
				EncryptionGateway: &vnf.EncryptionGatewayState{Protocol: "WireGuard", Implementation: "Userspace", Threads: 2, TunnelMTUBytes: 1500},
			},
		},
		{Name: "r1"},
	}
	if diff := cmp.Diff(want, got.Functions); diff != "" {
		t.Error(diff)
	}
	problems := strings.Join(got.Problems, "\n")
	if len(got.Problems) != 3 || !strings.Contains(problems, "function silent did not say what it is: HTTP 404") ||
		!strings.Contains(problems, "function odd did not say what it is: json: cannot unmarshal string") {
		t.Errorf("problems %q", got.Problems)
	}
}

func TestTruncate(t *testing.T) {
	whole := &measure.Evidence{
		ElapsedMilliseconds: 1000, CPUs: 4, Node: &measure.CPUTime{SoftirqMilliseconds: 900},
		Functions: []measure.FunctionEvidence{{
			Name: "fw", ElapsedMilliseconds: 1000, Guest: &measure.CPUTime{SoftirqMilliseconds: 800},
			Ports:    []measure.PortEvidence{{Name: "west", ReceivedFrames: 1000, ReceiveDroppedFrames: 3}, {Name: "east", SentFrames: 997}},
			Counters: map[string]int64{vnf.CounterMatchedPackets: 1000},
		}},
		Notes: []string{"one", "two"},
	}
	before, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	forms := map[string]bool{}
	for most := Bytes(whole); most >= 0; most-- {
		got := Truncate(whole, most)
		if Bytes(got) > most {
			t.Fatalf("%d bytes, at most %d were asked for", Bytes(got), most)
		}
		if got != nil && (got.Node == nil || got.Shortened != (got != whole)) {
			t.Errorf("%d: %+v", most, got)
		}
		text, _ := json.Marshal(got)
		if last = string(text); !forms[last] {
			forms[last] = true
		}
	}
	if len(forms) != 5 || last != "null" {
		t.Errorf("%d forms, the last %s", len(forms), last)
	}
	if after, _ := json.Marshal(whole); string(after) != string(before) {
		t.Error("the whole evidence was changed")
	}
}
