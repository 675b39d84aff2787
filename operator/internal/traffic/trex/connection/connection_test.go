package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// fake is a server and its clients; it notes what is done with it.
type fake struct {
	Client
	dead    error
	dials   []error // of each dial, nil after them
	begins  []error // of each begin, nil after them
	restart error
	notes   []string
}

func (f *fake) Address() string   { return "127.0.0.1:4501" }
func (f *fake) Alive() error      { return f.dead }
func (f *fake) SessionID() uint32 { return 7 }
func (f *fake) Close() error      { f.notes = append(f.notes, "close"); return nil }

func (f *fake) Restart(context.Context) error {
	f.notes = append(f.notes, "restart")
	if f.restart == nil {
		f.dead = nil
	}
	return f.restart
}

func (f *fake) dial(_ context.Context, _ string, o rpc.Options) (Client, error) {
	f.notes = append(f.notes, fmt.Sprintf("dial session %d", o.SessionID))
	return f, next(&f.dials)
}

func (f *fake) begin(context.Context) error { return next(&f.begins) }

func next(all *[]error) error {
	if len(*all) == 0 {
		return nil
	}
	err := (*all)[0]
	*all = (*all)[1:]
	return err
}

func TestTry(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		fake fake
		// fails are the errors of the attempts, nil after them.
		fails []error
		notes []string
		words []string // of the error; none means no error
	}{
		"at once":                  {},
		"a refusal is not tried":   {fails: []error{refused}, words: []string{"refused"}},
		"another has the ports":    {fails: []error{rpc.ErrOwned}, notes: []string{"close", "dial session 7"}},
		"counters were set back":   {fails: []error{ErrCountersReset}, notes: []string{"close", "dial session 7"}},
		"a stuck server":           {fails: []error{ErrStuck}, notes: []string{"restart", "close", "dial session 7"}},
		"a server that hangs":      {fake: fake{begins: []error{nil, rpc.ErrConnection}}, fails: []error{rpc.ErrConnection}, notes: []string{"close", "dial session 7", "restart", "close", "dial session 7"}},
		"a dead server":            {fake: fake{dead: refused}, fails: []error{refused}, notes: []string{"restart", "close", "dial session 7"}},
		"a server that stays dead": {fake: fake{dead: refused, restart: errors.New("no memory")}, fails: []error{refused}, notes: []string{"restart"}, words: []string{"refused", "could not continue", "no memory"}},
		"three times": {
			fails: []error{rpc.ErrOwned, rpc.ErrOwned, rpc.ErrOwned}, words: []string{rpc.ErrOwned.Error()},
			notes: []string{"close", "dial session 7", "close", "dial session 7"},
		},
		"no client after a failed dial": {
			fake: fake{dials: []error{nil, refused}}, fails: []error{rpc.ErrOwned}, words: []string{"could not continue", "refused"},
			notes: []string{"close", "dial session 7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.fake
			connection := &Connection{Server: &f, Begin: f.begin, Dial: f.dial}
			if err := connection.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.notes = nil
			err := connection.Try(t.Context(), func() error { return next(&c.fails) })
			if diff := cmp.Diff(c.notes, f.notes); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (len(c.words) == 0) {
				t.Fatalf("got %v, want an error: %t", err, len(c.words) > 0)
			}
			for _, words := range c.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("got %q, want it to have %q", err, words)
				}
			}
		})
	}
}

// TestTryAfterAFailedDial shows that a driver is not lost with a client.
func TestTryAfterAFailedDial(t *testing.T) {
	f := fake{dials: []error{nil, rpc.ErrVersion}}
	connection := &Connection{Server: &f, Begin: f.begin, Dial: f.dial}
	if err := errors.Join(connection.Connect(t.Context()), connection.Close()); err != nil {
		t.Fatal(err)
	}
	if err := connection.Connect(t.Context()); !errors.Is(err, rpc.ErrVersion) || connection.Client != nil {
		t.Fatalf("got %v and client %v", err, connection.Client)
	}
	calls := 0
	if err := connection.Try(t.Context(), func() error { calls++; return nil }); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if want := "dial session 7"; f.notes[len(f.notes)-1] != want || slices.Contains(f.notes, "restart") {
		t.Errorf("got %q, want %q in the end and no restart", f.notes, want)
	}
}

func TestExplain(t *testing.T) {
	missing := measure.Failf(v1alpha1.ReasonHugepagesMissing, "raise the hugepages", "no memory")
	for name, c := range map[string]struct {
		err, dead     error
		reason, words string
	}{
		"an error with a reason": {err: missing, dead: errors.New("gone"), reason: v1alpha1.ReasonHugepagesMissing, words: "raise the hugepages"},
		"another version":        {err: rpc.ErrVersion, reason: v1alpha1.ReasonTRexVersion, words: "v3.08"},
		"another mode":           {err: rpc.ErrMode, reason: v1alpha1.ReasonTRexServerFailed, words: "--astf"},
		"a fault":                {err: rpc.ErrConnection, reason: v1alpha1.ReasonTRexServerFailed, words: "log"},
		"a dead server":          {err: rpc.ErrConnection, dead: errors.New("killed by signal 9"), reason: v1alpha1.ReasonTRexServerFailed, words: "killed by signal 9"},
		"a death with a reason":  {err: rpc.ErrConnection, dead: missing, reason: v1alpha1.ReasonHugepagesMissing, words: "raise the hugepages"},
	} {
		err := (&Connection{Server: &fake{dead: c.dead}, Options: rpc.Options{API: rpc.STL}}).Explain(c.err)
		if measure.ReasonOf(err) != c.reason || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %q, want one line with %s and %q", name, err, c.reason, c.words)
		}
	}
	if err := (&Connection{}).Explain(nil); err != nil {
		t.Errorf("no error is explained by %v", err)
	}
}

func TestSince(t *testing.T) {
	before := Losses{Ports: [2]Port{{OutErrors: 5, InErrors: 5}, {OutErrors: 9}}, Global: Global{QueueFull: 2, QueueDrop: 3}}
	after := Losses{Ports: [2]Port{{OutErrors: 6, InErrors: 5}, {OutErrors: 1, InErrors: 4}}, Global: Global{QueueFull: 4, QueueDrop: 3, CPUPercent: 50}}
	want := Losses{Ports: [2]Port{{OutErrors: 1}, {InErrors: 4}}, Global: Global{QueueFull: 2, CPUPercent: 50}}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Error(diff)
	}
}
