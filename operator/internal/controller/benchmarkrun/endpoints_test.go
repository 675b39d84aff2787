package benchmarkrun

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func tcpAsked(s *scope) { s.run.Spec.Experiment.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1}} }

// byGenerator lets the generator make the connections itself.
func byGenerator(s *scope) {
	s.plan.Instructions.Stateful = &measure.Stateful{}
}

// chainPods returns the names of all pods that must be ready before the chain is.
func chainPods(s *scope) []string {
	var names []string
	for _, f := range s.run.Spec.Experiment.Chain {
		names = append(names, s.names.Function(f.Name))
	}
	if s.run.Spec.Experiment.Measurements.TCP != nil && s.plan.Instructions.Stateful == nil {
		names = append(names, s.names.Endpoint(measure.EndWest), s.names.Endpoint(measure.EndEast))
	}
	return names
}

// chainPodsReady adds the functions' pods and those of the ends, which have addresses.
func chainPodsReady(s *scope) {
	for i, name := range chainPods(s) {
		s.chainPods = append(s.chainPods, pod(name, ready, func(p *corev1.Pod) { p.Status.PodIP = "10.0.0." + string(rune('1'+i)) }))
	}
}

// changeEnd alters the pod of an end.
func changeEnd(end string, change func(*corev1.Pod)) with {
	return func(s *scope) { change(s.pod(s.names.Endpoint(end))) }
}

func without(end string) with {
	return func(s *scope) {
		for i := range s.chainPods {
			if s.chainPods[i].Name == s.names.Endpoint(end) {
				s.chainPods = append(s.chainPods[:i], s.chainPods[i+1:]...)
				return
			}
		}
	}
}

func TestDecideWithEnds(t *testing.T) {
	for name, test := range map[string]struct {
		scope  *scope
		action action
		reason string
	}{
		"ends are launched with the chain": {newScope(launched, tcpAsked, withRecords(calibrated), chainPodsReady, without("east")), actLaunchChain, ""},
		"all are ready":                    {newScope(launched, tcpAsked, withRecords(calibrated), chainPodsReady), actOpenChain, ""},
		"an end is waited for": {newScope(launched, tcpAsked, withRecords(calibrated), chainPodsReady,
			changeEnd("east", func(p *corev1.Pod) { *p = pod(p.Name, unready("not yet")) })), actWait, ""},
		"an end never gets ready": {newScope(launched, tcpAsked, withRecords(calibrated), chainPodsReady, after(301*time.Second),
			changeEnd("east", func(p *corev1.Pod) { *p = pod(p.Name, unready("not yet")) })), actFinish, v1alpha1.ReasonChainNotReady},
		"an end is gone": {newScope(launched, tcpAsked, withRecords(open), chainPodsReady, without("west")), actFinish, v1alpha1.ReasonEndpointFailed},
		"an end has crashed explains what the measurer saw": {newScope(launched, tcpAsked, withRecords(open), chainPodsReady,
			withRecords(gaveUp(v1alpha1.ReasonChainFailed)), changeEnd("west", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 })), actFinish, v1alpha1.ReasonEndpointFailed},
		"a function that crashed is the cause": {newScope(launched, tcpAsked, withRecords(open), chainPodsReady,
			withRecords(gaveUp(v1alpha1.ReasonEndpointFailed)), func(s *scope) { s.function("one").Status.ContainerStatuses[0].RestartCount = 1 }), actFinish, v1alpha1.ReasonChainFailed},
		"the measurer's own reason": {newScope(launched, tcpAsked, withRecords(open), chainPodsReady,
			withRecords(gaveUp(v1alpha1.ReasonTCPSettingRefused))), actFinish, v1alpha1.ReasonTCPSettingRefused},
		"without TCP no ends are missed":             {newScope(launched, withRecords(calibrated), chainPodsReady), actOpenChain, ""},
		"a generator with its own TCP needs no ends": {newScope(launched, tcpAsked, byGenerator, withRecords(calibrated), chainPodsReady), actOpenChain, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(test.scope)
			reason := ""
			if d.outcome != nil {
				reason = d.outcome.reason
			}
			if d.action != test.action || reason != test.reason {
				t.Errorf("%s %q, want %s %q: %+v", d.action, reason, test.action, test.reason, d.outcome)
			}
		})
	}
}

func TestEndpointAddresses(t *testing.T) {
	s := newScope(launched, tcpAsked, chainPodsReady)
	got, err := s.endpointAddresses()
	if diff := cmp.Diff(`{"west":"10.0.0.3:8080","east":"10.0.0.4:8080"}`, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := newScope(launched).endpointAddresses(); got != "" || err != nil {
		t.Errorf("without TCP: %q, %v", got, err)
	}
	for name, change := range map[string]with{
		"no pod": without("west"), "no address": changeEnd("east", func(p *corev1.Pod) { p.Status.PodIP = "" }),
	} {
		if _, err := newScope(launched, tcpAsked, chainPodsReady, change).endpointAddresses(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestEndpointCleanup checks that what the ends needed is deleted with the rest, even if the plan was never stored.
func TestEndpointCleanup(t *testing.T) {
	names := func(s *scope) map[string]bool {
		found := map[string]bool{}
		for _, w := range s.workloads() {
			for _, object := range w.Needs {
				found[object.GetName()] = true
			}
		}
		return found
	}
	with, s := names(newScope(tcpAsked)), newScope()
	for _, name := range []string{s.names.EndpointsPolicy, s.names.Endpoint("west"), s.names.Endpoint("east")} {
		if !with[name] || names(s)[name] {
			t.Errorf("%s: %v with TCP, %v without", name, with[name], names(s)[name])
		}
	}
}

func TestTCPHeadline(t *testing.T) {
	result := &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{
		{Direction: "Forward", GoodputBitsPerSecond: 20}, {Direction: "Reverse", GoodputBitsPerSecond: 10},
	}}}}
	if got, want := tcpHeadline(result), "TCP goodput of streams 4 in direction Reverse is 10 bits/s; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := tcpHeadline(nil); got != "" {
		t.Errorf("without TCP: %q", got)
	}
}

func TestConnectionsHeadline(t *testing.T) {
	for want, load := range map[string]v1alpha1.ConnectionsLoadResult{
		"load web has 980 of 1000 connections/s; ": {Name: "web", IntendedConnectionsPerSecond: 1000, EstablishedConnectionsPerSecond: new(int64(980))},
		"load table holds 49 of 50 connections; ":  {Name: "table", IntendedConcurrentConnections: new(int64(50)), HeldConnections: new(int64(49))},
	} {
		if got := connectionsHeadline(&v1alpha1.ConnectionsResult{Loads: []v1alpha1.ConnectionsLoadResult{load}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := connectionsHeadline(nil); got != "" {
		t.Errorf("without connections: %q", got)
	}
}
