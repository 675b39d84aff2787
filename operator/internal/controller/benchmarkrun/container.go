package benchmarkrun

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// foreground is what a program has to do that ended without an error: its container ends with it.
const foreground = "its program must stay in the foreground"

// notStarted are the reasons of a container runtime whose message is its own, because the program did not start.
var notStarted = []string{"StartError", "ContainerCannotRun"}

// userContainer returns the function whose own container a workload is, or nil.
func (s *scope) userContainer(workload string) *v1alpha1.NetworkFunction {
	for i := range s.run.Spec.Experiment.Chain {
		if f := &s.run.Spec.Experiment.Chain[i]; f.Custom != nil && f.Custom.Container != nil && s.names.Function(f.Name) == workload {
			return f
		}
	}
	return nil
}

// quotable returns the newest pod of a workload as the messages of the run quote it, or nil. Of what a user's own container left as it ended
// they have the last lines, or nothing where the installation leaves out what guests print.
func (s *scope) quotable(workload string) *corev1.Pod {
	pod := s.pod(workload)
	if pod == nil || s.userContainer(workload) == nil {
		return pod
	}
	pod = pod.DeepCopy()
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		for _, end := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if end == nil {
				continue
			}
			words := lastLines(end.Message)
			if s.withoutConsoles && !slices.Contains(notStarted, end.Reason) {
				words = ""
			}
			if end.ExitCode == 0 {
				words = strings.TrimSuffix(foreground+": "+words, ": ")
			}
			end.Message = words
		}
	}
	return pod
}

// withLog adds to the problem of a pod the end of its log, unless its container left last words: those are the end of its log too.
func withLog(p *problem, pod *corev1.Pod, log string) *problem {
	if pod != nil && slices.ContainsFunc(containers(pod), func(c corev1.ContainerStatus) bool {
		end := lastEnd(c)
		return end != nil && strings.TrimSpace(end.Message) != ""
	}) {
		return p
	}
	return withConsole(p, log)
}

// wasRestarted reports whether the last end of a pod's container is that of an earlier one, whose log is not the newest.
func wasRestarted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(containers(pod), func(c corev1.ContainerStatus) bool {
		return c.State.Terminated == nil && c.LastTerminationState.Terminated != nil
	})
}

// quotableEvents returns the events of a workload that messages of the run may quote: where the installation leaves out what guests
// print, not those with the output of the command that asks a user's own container.
func (s *scope) quotableEvents(workload string, events []corev1.Event) []corev1.Event {
	f := s.userContainer(workload)
	if !s.withoutConsoles || f == nil || f.Custom.Readiness == nil || f.Custom.Readiness.Kind != v1alpha1.ReadinessExec {
		return events
	}
	return slices.DeleteFunc(events, func(e corev1.Event) bool { return e.Reason == "Unhealthy" })
}
