package benchmarkrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
)

// summarize computes the whole status from what was read and what was done. It is the only
// place that sets a condition. A verdict is permanent: after it, only the release of the
// testbed is written.
func summarize(s *scope, d decision) v1alpha1.BenchmarkRunStatus {
	w := &writer{scope: s, decision: d, status: *s.run.Status.DeepCopy()}
	w.status.ObservedGeneration = s.run.Generation
	if name := w.testbedName(); name != "" {
		w.status.TestbedRef = &v1alpha1.TestbedReference{Name: name}
	}
	w.admitted()
	if queue.Finished(s.run) {
		return w.status
	}
	w.facts()
	w.planned()
	w.chainReady()
	w.measured()
	w.accepted()
	w.succeeded()
	return w.status
}

// writer fills in one status.
type writer struct {
	*scope
	decision
	status v1alpha1.BenchmarkRunStatus
}

func (w *writer) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&w.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: w.run.Generation, LastTransitionTime: metav1.NewTime(w.now),
	})
}

// waiting sets ChainReady while the run waits for a cause to pass. Its time is the start of the wait, which the
// change of a reason alone does not set.
func (w *writer) waiting() {
	before := meta.FindStatusCondition(w.status.Conditions, v1alpha1.ConditionChainReady)
	began := before == nil || before.Reason != v1alpha1.ReasonWaiting
	w.set(v1alpha1.ConditionChainReady, metav1.ConditionUnknown, v1alpha1.ReasonWaiting, w.chain.message)
	if began {
		meta.FindStatusCondition(w.status.Conditions, v1alpha1.ConditionChainReady).LastTransitionTime = metav1.NewTime(w.now)
	}
}

func (w *writer) finishing() bool { return w.action == actFinish }

func (w *writer) failed() bool {
	return w.finishing() && w.outcome.reason != v1alpha1.ReasonSucceeded
}

func (w *writer) admitted() {
	name := w.testbedName()
	holds := w.action == actAdmit || queue.Occupies(w.run) && w.action != actRelease
	switch {
	case holds && (w.action == actStopPods || w.wait != nil):
		w.set(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonAdmitted, sentence("releasing Testbed %q: waiting for the run's pods to end", name))
	case holds:
		w.set(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonAdmitted, sentence("the run holds Testbed %q", name))
	case w.wait != nil:
		w.set(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, w.wait.reason, w.wait.message)
	case w.action == actRelease:
		w.set(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonReleased, sentence("the run has released Testbed %q", name))
	case meta.FindStatusCondition(w.status.Conditions, v1alpha1.ConditionAdmitted) == nil:
		w.set(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonPending, sentence("the run has not asked for Testbed %q yet", name))
	}
	if w.action == actAdmit && w.status.StartTime == nil {
		w.status.StartTime = ptr.To(metav1.NewTime(w.now))
	}
	w.status.QueuePosition = nil
	if w.wait != nil && !holds {
		w.status.QueuePosition = w.queuePosition()
	}
}

// facts fills in the status except for its conditions.
func (w *writer) facts() {
	if p := cmp.Or(w.plan, w.made); p != nil {
		w.status.Plan = &v1alpha1.PlanSummary{Digest: p.Digest, StoredDigest: w.storedDigest, GeneratorNode: p.GeneratorNode, DeviceNode: p.DeviceNode}
		if seed := p.Instructions.OrderSeed; seed > 0 {
			w.status.Plan.OrderSeed = &seed
		}
	}
	if r := w.records; r != nil {
		w.status.ResultsRef = &v1alpha1.LocalReference{Name: w.names.Results}
		w.status.Deployments = w.deployments()
		if r.progress != nil {
			w.status.Progress = &v1alpha1.Progress{
				Stage:            excerpt.Line(r.progress.Stage, maxStageBytes),
				Trials:           int32(r.progress.Trials),
				Percent:          int32(min(max(r.progress.Percent, 0), 100)),
				RemainingSeconds: max(r.progress.RemainingSeconds, 0),
				MeasurerRestarts: r.restarts(),
			}
		}
	}
	if w.finishing() {
		w.status.CompletionTime = ptr.To(metav1.NewTime(w.now))
	}
	if w.plan != nil || w.status.Baseline == nil {
		w.status.Baseline = w.baselineReport()
	}
	if w.plan == nil {
		// What was computed with the plan stays.
		return
	}
	if w.figures.Frames != nil {
		w.status.Results, w.status.Summary = w.figures.Frames, w.figures.Summary
	}
	if w.action == actOpenChain || w.records != nil && w.records.chainOpen || w.failed() {
		w.status.Chain = w.reports()
	}
	if w.figures.Sessions != nil {
		w.status.Sessions = w.figures.Sessions
	}
	if w.figures.TCP != nil {
		w.status.TCP = w.figures.TCP
	}
	if w.figures.Connections != nil {
		w.status.Connections = w.figures.Connections
	}
	if w.figures.CPU != nil {
		w.status.CPU = w.figures.CPU
	}
	if report := w.neighbors(); report != nil {
		w.status.NoisyNeighbors = report
	}
	if report := w.generator(); report != nil {
		w.status.Generator = report
	}
	if device := w.device(); device != nil {
		w.status.Device = device
	}
	if warnings := w.warnings(); warnings != nil {
		w.status.Warnings = boundedWarnings(warnings)
	}
}

// warnings returns the warnings about the device and about the figures.
func (w *writer) warnings() []v1alpha1.Warning {
	return slices.Concat(vmWarnings(w.plan, w.status.Chain), functionWarnings(w.plan, w.status.Chain), w.neighborWarnings(), w.deploymentWarnings(), w.baselineWarnings(), w.figures.Warnings)
}

// generator returns what the driver found, on the chain's path once it has been opened.
func (w *writer) generator() *v1alpha1.GeneratorReport {
	if w.records == nil || w.records.generator == nil {
		return nil
	}
	description := w.records.generator.Chain
	if description == nil {
		description = w.records.generator.Calibration
	}
	if description == nil {
		return nil
	}
	report := &v1alpha1.GeneratorReport{
		Driver:  excerpt.Line(description.Driver, maxDriverBytes),
		ImageID: w.measurerImage(),

		MeasurerVersion: excerpt.Line(w.records.generator.MeasurerVersion, maxVersionBytes),

		TransmitPath: excerpt.Line(description.TransmitPath, maxDriverBytes),
		ReceiveMode:  excerpt.Line(description.ReceiveMode, maxDriverBytes),
		Threads:      int32(description.Threads),
		Scheduling:   excerpt.Line(description.Scheduling, maxDriverBytes),
		Calibration:  w.figures.Calibration,

		RingFrames: int32(description.RingFrames), FrameCostNanoseconds: description.FrameCostNanoseconds,
	}
	hop, why := w.plan.Hop()
	report.Hop, report.HopReason = string(hop), excerpt.Line(why, maxMessageBytes)
	ports := w.plan.Instructions.Chain.Ports
	report.WestVLAN, report.EastVLAN = int32(ports[0].VLAN), int32(ports[1].VLAN)
	if m := w.records.generator.Node; m != nil {
		report.CPUs, report.IsolatedCPUs = int32(len(m.CPUs)), int32(len(m.IsolatedCPUs))
		for _, governor := range first(m.ScalingGovernors, maxFallbacks) {
			report.ScalingGovernors = append(report.ScalingGovernors, excerpt.Line(governor, maxKeywordBytes))
		}
		report.Fingerprint, report.Interfaces = fingerprintOf(m.Fingerprint), interfacesOf(m.Ports)
	}
	for _, port := range description.Ports {
		found := v1alpha1.GeneratorPort{
			Name: excerpt.Line(port.Interface, maxKeywordBytes), RefusedFrames: excerpt.Line(port.RefusedFrames, maxDriverBytes),
			InterruptMicroseconds: port.InterruptMicroseconds, AdaptiveInterrupts: port.AdaptiveInterrupts,
			NextHopMACAddress: excerpt.Line(port.NextHopMAC, maxMACBytes),
		}
		if port.NextHop.IsValid() {
			found.NextHop = port.NextHop.WithZone("").String()
		}
		report.Ports = append(report.Ports, found)
	}
	for _, fallback := range first(description.Fallbacks, maxFallbacks) {
		report.Fallbacks = append(report.Fallbacks, excerpt.Line(fallback, maxMessageBytes))
	}
	report.Log = excerpt.Lines(w.records.generator.Log, measure.GeneratorLogLines, measure.GeneratorLogBytes)
	return report
}

// measurerImage returns the digest of the newest measurer's image; the earlier one where the pod is
// gone.
func (w *writer) measurerImage() string {
	if len(w.measurers) > 0 {
		if id := imageOf(&w.measurers[0], w.measurers[0].Status.ContainerStatuses); id != "" {
			return id
		}
	}
	if w.status.Generator == nil {
		return ""
	}
	return w.status.Generator.ImageID
}

func (w *writer) planned() {
	switch {
	case w.plan != nil:
		w.set(v1alpha1.ConditionPlanned, metav1.ConditionTrue, v1alpha1.ReasonPlanned,
			sentence("traffic is made on node %q, the chain runs on node %q", w.plan.GeneratorNode, w.plan.DeviceNode))
	case w.failed():
		w.set(v1alpha1.ConditionPlanned, metav1.ConditionFalse, w.outcome.reason, w.outcome.message)
	case meta.IsStatusConditionTrue(w.status.Conditions, v1alpha1.ConditionPlanned):
		// A run that does not continue at the moment does not read its plan.
	default:
		w.set(v1alpha1.ConditionPlanned, metav1.ConditionUnknown, v1alpha1.ReasonPending, "the plan is made when the run holds its testbed")
	}
}

func (w *writer) chainReady() {
	open := w.records != nil && w.records.chainOpen && w.wait == nil && w.action != actReplaceChain || w.action == actOpenChain
	switch {
	case w.failed() && w.outcome.reason == v1alpha1.ReasonChainFailed, w.failed() && !open && !w.measuredNow():
		w.set(v1alpha1.ConditionChainReady, metav1.ConditionFalse, w.outcome.reason, w.outcome.message)
	case open:
		w.set(v1alpha1.ConditionChainReady, metav1.ConditionTrue, v1alpha1.ReasonChainReady, "every function of the chain is ready")
	case w.chain != nil && w.chain.reason == v1alpha1.ReasonWaiting:
		w.waiting()
	case w.chain != nil:
		w.set(v1alpha1.ConditionChainReady, metav1.ConditionUnknown, w.chain.reason, w.chain.message)
	default:
		w.set(v1alpha1.ConditionChainReady, metav1.ConditionUnknown, v1alpha1.ReasonPending, "the chain is launched when the generator is calibrated")
	}
}

// measuredNow reports whether this decision completes the figures.
func (w *writer) measuredNow() bool { return w.finishing() && w.decision.measured }

func (w *writer) measured() {
	switch {
	case w.measuredNow():
		w.set(v1alpha1.ConditionMeasured, metav1.ConditionTrue, v1alpha1.ReasonMeasured, sentence("%d trials", len(w.records.trials)))
	case w.failed():
		w.set(v1alpha1.ConditionMeasured, metav1.ConditionFalse, w.outcome.reason, w.outcome.message)
	case w.wait == nil && w.records != nil && w.records.chainOpen && w.action != actReplaceChain:
		w.set(v1alpha1.ConditionMeasured, metav1.ConditionUnknown, v1alpha1.ReasonMeasuring, "trials are running")
	default:
		w.set(v1alpha1.ConditionMeasured, metav1.ConditionUnknown, v1alpha1.ReasonPending, "trials begin when the chain is ready")
	}
}

func (w *writer) accepted() {
	switch {
	case w.measuredNow():
		verdicts := w.verdicts()
		w.status.Acceptance = boundedVerdicts(verdicts)
		status, reason := metav1.ConditionTrue, v1alpha1.ReasonAccepted
		switch acceptance.Worst(verdicts) {
		case v1alpha1.VerdictPassed:
		case v1alpha1.VerdictFailed:
			status, reason = metav1.ConditionFalse, v1alpha1.ReasonNotAccepted
		default:
			status, reason = metav1.ConditionUnknown, v1alpha1.ReasonInconclusive
		}
		w.set(v1alpha1.ConditionAccepted, status, reason, w.outcome.message)
	case w.failed():
		w.set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonNotMeasured, "there are no figures to judge: the run failed")
	default:
		w.set(v1alpha1.ConditionAccepted, metav1.ConditionUnknown, v1alpha1.ReasonPending, "figures are judged when they are all there")
	}
}

// succeeded sets the summary, with kstatus's two conditions.
func (w *writer) succeeded() {
	if !w.finishing() {
		reason, message := w.going()
		w.set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, reason, message)
		w.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
		return
	}
	meta.RemoveStatusCondition(&w.status.Conditions, v1alpha1.ConditionReconciling)
	if w.failed() {
		w.set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, w.outcome.reason, w.outcome.message)
		w.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, w.outcome.reason, w.outcome.message)
		return
	}
	w.set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, w.outcome.reason, sentence("%s%s%s%s", headline(w.figures.Summary, w.figures.Frames), tcpHeadline(w.figures.TCP), connectionsHeadline(w.figures.Connections), w.outcome.message))
}

// headline returns the figures of the printer columns, with the words that belong to them. A floor
// is marked as one.
func headline(summary *v1alpha1.ResultSummary, frames []v1alpha1.FrameResult) string {
	if summary == nil {
		return ""
	}
	var text strings.Builder
	if summary.FramesPerSecond != nil {
		key := v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Size: summary.Size, Goal: summary.Goal}
		atLeast := ""
		if f := figure.Worst(figure.Results{Frames: frames}.Figures(), key); f != nil && f.Bound == figure.AtLeast {
			atLeast = "at least "
		}
		fmt.Fprintf(&text, "%s of size %s is %s%d frames/s; ", summary.Goal, summary.Size, atLeast, *summary.FramesPerSecond)
	}
	if summary.P99Nanoseconds != nil {
		fmt.Fprintf(&text, "p99 latency of size %s at load %s is %d ns; ", summary.Size, summary.Load, *summary.P99Nanoseconds)
	}
	return text.String()
}

// going returns in one sentence what a run does or waits for.
func (w *writer) going() (reason, message string) {
	switch {
	case !w.run.DeletionTimestamp.IsZero():
		return v1alpha1.ReasonDeleting, "the run is being deleted"
	case w.wait != nil:
		return w.wait.reason, w.wait.message
	case w.chain != nil && w.chain.reason == v1alpha1.ReasonWaiting:
		return v1alpha1.ReasonWaiting, w.chain.message
	case w.chain != nil:
		return v1alpha1.ReasonProgressing, w.chain.message
	case w.plan == nil:
		return v1alpha1.ReasonProgressing, "making the plan"
	case w.records == nil || w.records.progress == nil:
		return v1alpha1.ReasonProgressing, "waiting for the measurer"
	case w.records.progress.Calibrated && !w.records.chainOpen:
		return v1alpha1.ReasonProgressing, "launching the chain"
	}
	return v1alpha1.ReasonProgressing, excerpt.Line(w.records.progress.Stage, maxMessageBytes)
}

func boundedVerdicts(verdicts []v1alpha1.Verdict) []v1alpha1.Verdict {
	kept := slices.Clone(first(verdicts, maxVerdicts))
	for i := range kept {
		kept[i].Message = excerpt.Line(kept[i].Message, maxMessageBytes)
	}
	return kept
}

func boundedWarnings(warnings []v1alpha1.Warning) []v1alpha1.Warning {
	kept := slices.Clone(first(warnings, maxWarnings))
	for i := range kept {
		kept[i].Code, kept[i].Message = excerpt.Line(kept[i].Code, maxCodeBytes), excerpt.Line(kept[i].Message, maxMessageBytes)
	}
	return kept
}

func first[T any](list []T, maximum int) []T { return list[:min(len(list), maximum)] }
