//go:build linux

package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/agent"
)

type kernel struct{ problem error }

func (m *kernel) Check() error { return m.problem }

func (m *kernel) Status() vnf.FunctionStatus {
	return vnf.FunctionStatus{State: vnf.State{Firewall: &vnf.FirewallState{Rules: 3}}, Counters: map[string]int64{vnf.CounterMatchedPackets: 5}}
}

func (m *kernel) Ports() []vnf.PortStatus {
	return []vnf.PortStatus{{Name: "west", Interface: "net1", Up: true, Counters: &vnf.PortCounters{RxPackets: 7}}}
}

type meter struct{ problem error }

func (m meter) Read() (vnf.CPUUsage, error) { return vnf.CPUUsage{ElapsedNanoseconds: 5}, m.problem }

func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestReadiness(t *testing.T) {
	var log bytes.Buffer
	down := errors.Join(errors.New(`port "west": interface "net1" is down`), errors.New(`port "east": route is missing`))
	m := &kernel{}
	a := agent.New(&vnf.Config{}, m, meter{}, time.Now(), slog.New(slog.NewJSONHandler(&log, nil)))
	handler := a.Handler()
	steps := []struct {
		name     string
		do       func()
		wantCode int
		wantBody string
		// wantLog is how many lines the step adds, at any number of requests.
		wantLog int
	}{
		{"before the configuration", func() {}, 503, "the configuration is not applied yet\n", 0},
		{"configured", a.Configured, 200, "ok\n", 1},
		{"a port goes down", func() { m.problem = down }, 503, down.Error() + "\n", 1},
		{"another reason", func() { m.problem = errors.New("gone") }, 503, "gone\n", 1},
		{"back", func() { m.problem = nil }, 200, "ok\n", 1},
	}
	for _, step := range steps {
		log.Reset()
		step.do()
		for range 3 {
			code, body := get(t, handler, "/readyz")
			if code != step.wantCode || body != step.wantBody {
				t.Errorf("%s: got %d %q, want %d %q", step.name, code, body, step.wantCode, step.wantBody)
			}
		}
		if got := strings.Count(log.String(), "\n"); got != step.wantLog {
			t.Errorf("%s: %d log lines, want %d:\n%s", step.name, got, step.wantLog, log.String())
		}
		if code, _ := get(t, handler, "/healthz"); code != 200 {
			t.Errorf("%s: /healthz is %d", step.name, code)
		}
	}
}

func TestStatus(t *testing.T) {
	config := &vnf.Config{Function: vnf.FunctionRouter, Name: "router-0"}
	m := &kernel{problem: errors.Join(errors.New("one"), errors.New("two"))}
	started := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	a := agent.New(config, m, meter{}, started, slog.New(slog.DiscardHandler))
	a.Configured()
	code, body := get(t, a.Handler(), "/status")
	if code != 200 {
		t.Fatalf("got %d", code)
	}
	got, err := vnf.ParseStatus([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := vnf.Status{
		Version:  vnf.StatusVersion,
		Function: "Router", Name: "router-0", ConfigurationDigest: config.Digest(), StartedAt: started,
		Reasons: []string{"one", "two"},
		Ports:   m.Ports(), FunctionStatus: m.Status(),
		CPU: &vnf.CPUUsage{ElapsedNanoseconds: 5},
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	broken := agent.New(config, m, meter{problem: errors.New("no /proc")}, started, slog.New(slog.DiscardHandler))
	if status := broken.Status(); status.CPU != nil || status.CPUProblem != "no /proc" {
		t.Errorf("without processor times: got %+v", status)
	}
}

// TestFail checks that after a failure the function stays failed, even when the kernel
// reports no fault; an agent without a configuration gives the reason.
func TestFail(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	config := &vnf.Config{Function: vnf.FunctionRouter, Name: "router-0"}
	lost := agent.New(config, &kernel{}, meter{}, time.Now(), log)
	lost.Configured()
	lost.Fail(errors.New("lost a port"))
	broken := agent.NewBroken(meter{}, time.Now(), log)
	broken.Fail(errors.New("lost a port"))
	for name, a := range map[string]*agent.Agent{"lost": lost, "broken": broken} {
		if code, body := get(t, a.Handler(), "/readyz"); code != http.StatusServiceUnavailable || body != "lost a port\n" {
			t.Errorf("%s: /readyz says %d %q", name, code, body)
		}
		if code, _ := get(t, a.Handler(), "/healthz"); code != http.StatusOK {
			t.Errorf("%s: /healthz says %d", name, code)
		}
		var status vnf.Status
		if _, body := get(t, a.Handler(), "/status"); json.Unmarshal([]byte(body), &status) != nil {
			t.Errorf("%s: /status is %s", name, body)
		}
		if diff := cmp.Diff([]string{"lost a port"}, status.Reasons); diff != "" || status.Ready || status.CPU == nil {
			t.Errorf("%s: status is %+v", name, status)
		}
	}
	if status := lost.Status(); status.Name != "router-0" || len(status.Ports) != 1 {
		t.Errorf("the status of what was lost is %+v", status)
	}
}
