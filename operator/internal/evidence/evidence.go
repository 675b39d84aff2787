// Package evidence asks the device's node and the chain's functions for their
// counters, right before a trial and right after its last frame, and takes the
// differences. Addresses go in; what a trial's record keeps comes out.
//
// No question is asked while frames are sent. A late answer is used and noted. An
// answer that does not come in time is missing and named: it never fails a trial
// and is never 0.
package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/vnf"
)

const (
	// answerTimeout is how long the observer and the neighbors may take to answer.
	answerTimeout = 500 * time.Millisecond
	// deviceTimeout limits the one question about what the node and the functions are. A busy node that a processor emulates took
	// more than five seconds.
	deviceTimeout = 20 * time.Second
	// maxAnswerBytes limits what is read of an answer.
	maxAnswerBytes = 256 << 10
	// maxNotes and maxNoteBytes limit what a record holds about missing answers.
	maxNotes, maxNoteBytes = 4, 160
	// maxMisses in a row, and a pod is no longer asked: to wait for a pod that cannot be
	// reached would cost seconds of every trial.
	maxMisses = 6
	// maxCounters of a function are kept; this is a limit of the API.
	maxCounters = 12
	// maxStateBytes of each text in a function's state are kept; this is a limit of the API.
	maxStateBytes = 32
	// tolerance is how much the time between two reads may exceed the sending time, in addition
	// to a tenth of it, before it is noted.
	tolerance = 200 * time.Millisecond
)

// functionTimeout is how long a function may take to answer. A virtual machine that has
// just received its last frame may have to forward it, and hundreds before it, until it has
// time for a question. The counters of many rules also take long to read. For a function
// that has never answered the shorter answerTimeout applies, so that an address that cannot be
// reached costs no seconds. It is a variable only for tests.
var functionTimeout = 5 * time.Second

// Collector asks the same addresses repeatedly. One goroutine uses it at a time.
type Collector struct {
	sources   measure.Sources
	tokenFile string
	client    *http.Client
	// misses in a row, of the observer, then of each function and each neighbor.
	misses []int
	// answered marks, in the same order, those that have answered before.
	answered []bool
	// askNeighbors is true if the neighbors are asked.
	askNeighbors bool
}

// New returns a collector for a chain that is ready. It sends the token in the file, if any, to the sources alone.
func New(sources measure.Sources, tokenFile string) *Collector {
	places := 1 + len(sources.Functions) + len(sources.Neighbors)
	return &Collector{
		sources: sources, tokenFile: tokenFile, misses: make([]int, places), answered: make([]bool, places),
		client: caller.Client(tokenFile, sources.Addresses()...),
	}
}

// Close closes the connections.
func (c *Collector) Close() { c.client.CloseIdleConnections() }

// Device asks once what the device's node and the chain's functions are, and which agents answer everyone, all at
// the same time.
func (c *Collector) Device(ctx context.Context) measure.DeviceState {
	ctx, cancel := context.WithTimeout(ctx, deviceTimeout)
	defer cancel()
	var device measure.DeviceState
	var asked sync.WaitGroup
	asked.Go(func() { device = c.node(ctx) })
	var open []string
	asked.Go(func() { open = c.openAgents(ctx) })
	answers, failures := make([]vnf.Status, len(c.sources.Functions)), make([]error, len(c.sources.Functions))
	for i, function := range c.sources.Functions {
		if function.Address != "" {
			asked.Go(func() {
				failures[i] = c.get(ctx, function.Address, vnf.PathStatus, statusOf(&answers[i]))
				c.answered[i+1] = failures[i] == nil
			})
		}
	}
	asked.Wait()
	device.OpenAgents = open
	for i, function := range c.sources.Functions {
		if function.Address == "" {
			// Nothing in a user's own machine could say what it is.
			continue
		}
		if err := failures[i]; err != nil {
			device.Problems = append(device.Problems, note("function %s did not say what it is: %v", function.Name, err))
			continue
		}
		device.Functions = append(device.Functions, measure.FunctionState{Name: function.Name, State: answers[i].State})
	}
	return fit(device)
}

// fit leaves a state out that the results do not take, as a node with very many CPUs or problems would have.
func fit(device measure.DeviceState) measure.DeviceState {
	text, err := json.Marshal(device)
	if err == nil {
		err = measure.CheckValue(string(text))
	}
	if err != nil {
		return measure.DeviceState{CycleCounter: device.CycleCounter, Problems: []string{note("what the node and the functions are is left out: %v", err)}}
	}
	return device
}

// node asks the observer.
func (c *Collector) node(ctx context.Context) measure.DeviceState {
	if c.sources.Observer == "" {
		return measure.DeviceState{Problems: []string{noObserver}}
	}
	var node observer.Node
	if err := c.get(ctx, c.sources.Observer, observer.PathNode, jsonOf(&node)); err != nil {
		return measure.DeviceState{Problems: []string{note("the observer did not say what the node is: %v", err)}}
	}
	return measure.DeviceState{Node: &node.Facts, Domains: node.Domains, CycleCounter: node.CycleCounter, Problems: node.Problems}
}

const noObserver = "the node of the chain is not observed"

// Reading is what all sources reported at one moment.
type Reading struct {
	node *observer.Snapshot
	// functions are in the order of their sources; nil did not answer.
	functions []*vnf.Status
	// neighbors are in the order of their sources; nil did not answer.
	neighbors []*neighbor.Status
	problems  []string
}

// Before reads the counters before a trial. The observer is asked after the functions have
// answered, so that the node's processor time does not include the wait for them.
func (c *Collector) Before(ctx context.Context) Reading {
	reading, failures := c.newReading()
	c.askFunctions(ctx, &reading, failures, functionTimeout)
	c.askOthers(ctx, &reading, failures)
	return reading.with(failures)
}

// After reads the counters after a trial's last frame, all at the same time. The functions
// may answer until the trial has settled, and functionTimeout longer: nothing else is sent
// before the next trial, so what they counted belongs to this one.
func (c *Collector) After(ctx context.Context, settling time.Duration) Reading {
	reading, failures := c.newReading()
	var asked sync.WaitGroup
	asked.Go(func() { c.askFunctions(ctx, &reading, failures, settling+functionTimeout) })
	asked.Go(func() { c.askOthers(ctx, &reading, failures) })
	asked.Wait()
	return reading.with(failures)
}

// newReading returns a Reading with a place for each source, and a list for their errors.
func (c *Collector) newReading() (Reading, []error) {
	return Reading{functions: make([]*vnf.Status, len(c.sources.Functions)), neighbors: make([]*neighbor.Status, len(c.neighbors()))}, make([]error, len(c.misses))
}

func (r Reading) with(failures []error) Reading {
	for _, err := range failures {
		if err != nil {
			r.problems = append(r.problems, note("%v", err))
		}
	}
	return r
}

// askFunctions asks all functions at the same time.
func (c *Collector) askFunctions(ctx context.Context, reading *Reading, failures []error, atMost time.Duration) {
	var asked sync.WaitGroup
	for i, function := range c.sources.Functions {
		if function.Address == "" {
			continue
		}
		asked.Go(func() {
			wait := atMost
			if !c.answered[i+1] {
				wait = min(wait, answerTimeout)
			}
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			var answer vnf.Status
			if failures[i+1] = c.ask(ctx, i+1, "function "+function.Name, function.Address, vnf.PathStatus, statusOf(&answer)); failures[i+1] == nil {
				reading.functions[i] = &answer
			}
		})
	}
	asked.Wait()
}

// askOthers asks the observer and the neighbors at the same time.
func (c *Collector) askOthers(ctx context.Context, reading *Reading, failures []error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var asked sync.WaitGroup
	if c.sources.Observer != "" {
		asked.Go(func() {
			var snapshot observer.Snapshot
			if failures[0] = c.ask(ctx, 0, "the observer", c.sources.Observer, observer.PathSnapshot, jsonOf(&snapshot)); failures[0] == nil {
				reading.node = &snapshot
			}
		})
	}
	for i, source := range c.neighbors() {
		asked.Go(func() {
			var answer neighbor.Status
			place := 1 + len(c.sources.Functions) + i
			if failures[place] = c.ask(ctx, place, "neighbor "+source.Name, source.Address, neighbor.PathStatus, jsonOf(&answer)); failures[place] == nil {
				reading.neighbors[i] = &answer
			}
		})
	}
	asked.Wait()
}

// ask asks one of the sources that are counted in misses.
func (c *Collector) ask(ctx context.Context, place int, who, address, path string, read func([]byte) error) error {
	if c.misses[place] >= maxMisses {
		return fmt.Errorf("%s is no longer asked: it did not answer %d times in a row", who, maxMisses)
	}
	if err := c.get(ctx, address, path, read); err != nil {
		c.misses[place]++
		return fmt.Errorf("%s did not answer: %w", who, err)
	}
	c.misses[place], c.answered[place] = 0, true
	return nil
}

func (c *Collector) get(ctx context.Context, address, path string, read func([]byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.New("it took too long")
		}
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	body = caller.WithoutToken(response, body)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it took too long")
	case err != nil:
		return err
	case response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("it refused: %s", excerpt.Line(string(body), maxNoteBytes))
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP %d", response.StatusCode)
	case len(body) > maxAnswerBytes:
		return fmt.Errorf("its answer is longer than %d bytes", maxAnswerBytes)
	}
	return read(body)
}

// jsonOf returns a reader for an answer of the operator's own release.
func jsonOf[T any](into *T) func([]byte) error {
	return func(body []byte) error { return json.Unmarshal(body, into) }
}

// statusOf returns a reader for a function's answer.
func statusOf(into *vnf.Status) func([]byte) error {
	return func(body []byte) error {
		status, err := vnf.ParseStatus(body)
		if err == nil {
			boundState(reflect.ValueOf(&status.State))
			*into = *status
		}
		return err
	}
}

// Between returns the difference of two reads around a trial that sent for a time.
func (c *Collector) Between(before, after Reading, sending time.Duration) *measure.Evidence {
	e := &measure.Evidence{}
	notes := slices.Concat(before.problems, after.problems)
	guests := map[string]measure.DomainTime{}
	switch {
	case c.sources.Observer == "":
	case before.node == nil || after.node == nil:
	case !before.node.StartedAt.Equal(after.node.StartedAt):
		notes = append(notes, "the observer was started again during the trial")
	default:
		var more []string
		guests, more = nodeBetween(e, *before.node, *after.node)
		notes = append(notes, more...)
		if late(e.ElapsedMilliseconds, sending) {
			notes = append(notes, note("the node was looked at over %d ms, of which frames were sent in %d ms", e.ElapsedMilliseconds, sending.Milliseconds()))
		}
	}
	for i, source := range c.sources.Functions {
		function, more := c.functionBetween(before.functions[i], after.functions[i], source, sending)
		notes = append(notes, more...)
		if domain, found := guests[source.Guest]; found && source.Guest != "" {
			if function == nil {
				// The time of its hypervisor is all that is known about it.
				function = &measure.FunctionEvidence{Name: source.Name, ElapsedMilliseconds: e.ElapsedMilliseconds}
			}
			function.Domain = &domain
		}
		if function != nil {
			e.Functions = append(e.Functions, *function)
		}
	}
	neighbors, more := c.neighborsBetween(before, after)
	e.Neighbors, notes = neighbors, append(notes, more...)
	e.Notes = distinct(notes)
	return e
}

// functionBetween returns what a function reported about itself, nil if it reported
// nothing, and what has to be noted.
func (c *Collector) functionBetween(before, after *vnf.Status, source measure.FunctionSource, sending time.Duration) (*measure.FunctionEvidence, []string) {
	if before == nil || after == nil {
		return nil, nil
	}
	if !before.StartedAt.Equal(after.StartedAt) {
		return nil, []string{note("function %s was started again during the trial", source.Name)}
	}
	function, problems := functionDelta(before, after, source)
	if late(function.ElapsedMilliseconds, sending) {
		problems = append(problems, fmt.Sprintf("it was looked at over %d ms, of which frames were sent in %d ms", function.ElapsedMilliseconds, sending.Milliseconds()))
	}
	for i := range problems {
		problems[i] = note("function %s: %s", source.Name, problems[i])
	}
	return &function, problems
}

// late reports whether the time between two reads is so much longer than the sending that
// processor time, which is divided by it, looks smaller than it was.
func late(elapsedMilliseconds int64, sending time.Duration) bool {
	return time.Duration(elapsedMilliseconds)*time.Millisecond > sending+sending/10+tolerance
}

// nodeBetween fills in the node's part, and returns that of its virtual machines.
func nodeBetween(e *measure.Evidence, before, after observer.Snapshot) (map[string]measure.DomainTime, []string) {
	used := after.Node.Minus(before.Node)
	e.Node, e.CPUs = &used, after.CPUs
	e.ElapsedMilliseconds = (after.ElapsedNanoseconds - before.ElapsedNanoseconds) / int64(time.Millisecond)
	if before.SoftirqThreadsMilliseconds != nil && after.SoftirqThreadsMilliseconds != nil {
		e.SoftirqThreadsMilliseconds = new(max(0, *after.SoftirqThreadsMilliseconds-*before.SoftirqThreadsMilliseconds))
	}
	guests, notes := map[string]measure.DomainTime{}, []string{}
	if problem := cyclesBetween(e, before, after); problem != "" {
		notes = append(notes, note("the node's cycles are not known: %s", problem))
	}
	for _, now := range after.Guests {
		for _, then := range before.Guests {
			switch {
			case now.Name != then.Name:
			case now.Process != then.Process || now.StartTicks != then.StartTicks:
				notes = append(notes, note("virtual machine %s was started again during the trial", now.Name))
			default:
				guests[now.Name] = now.DomainTime.Minus(then.DomainTime)
			}
		}
	}
	return guests, notes
}

// cyclesBetween fills in the node's cycles where they were counted, or returns why they are not known although
// they should be. Some hypervisors offer counters that never count: no node does a trial's work in 0 cycles.
func cyclesBetween(e *measure.Evidence, before, after observer.Snapshot) (problem string) {
	if problem := cmp.Or(after.CyclesProblem, before.CyclesProblem); problem != "" {
		return problem
	}
	if before.Cycles == nil || after.Cycles == nil {
		return ""
	}
	if *after.Cycles <= *before.Cycles {
		return "its counters did not count"
	}
	e.Cycles = new(*after.Cycles - *before.Cycles)
	return ""
}

// note returns a bounded sentence.
func note(format string, args ...any) string {
	return excerpt.Line(fmt.Sprintf(format, args...), maxNoteBytes)
}

// distinct returns the first notes, each once.
func distinct(notes []string) []string {
	var kept []string
	for _, n := range notes {
		if n = note("%s", n); !slices.Contains(kept, n) && len(kept) < maxNotes {
			kept = append(kept, n)
		}
	}
	return kept
}
