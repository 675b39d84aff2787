package report

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/measure"
)

// sections returns the document for people; parts without content are left out.
func sections(doc Document, opts Options, l letters) []section {
	parts := []section{
		headSection(doc),
		throughputSection(doc, l),
		throughputRepeats(doc),
		serviceTimeSection(doc),
		latencySection(doc, l),
		latencyRepeats(doc, l),
		waitSection(doc, l),
		packetSection(doc),
		taggedSection(doc, l),
		variationSection(doc, l),
		firstFrameSection(doc, l),
		fixedLoadSection(doc, l),
		repeatSection(doc, l),
		frameLossRateSection(doc),
	}
	parts = append(parts, tableSections(doc, l)...)
	parts = append(parts,
		soakSection(doc, l),
		latenessSection(doc, l),
		nodeCPUSection(doc),
		functionCPUSection(doc),
		nodeCostSection(doc),
		functionCostSection(doc),
		counterSection(doc),
		tcpSection(doc, l),
		tcpScalingSection(doc),
		tcpRepeats(doc),
		tcpIntervals(doc),
		connectionsSection(doc),
		connectionsRepeats(doc),
		neighborSection(doc),
		differenceSection(doc),
		baselineSection(doc),
		acceptanceSection(doc),
		doubtSection(doc),
		warningSection(doc),
		chainSection(doc),
		deploymentSection(doc),
		generatorSection(doc, l),
	)
	parts = append(parts, platformSections(doc)...)
	parts = append(parts, section{title: "Deviations from RFC 2544", notes: doc.Deviations})
	if opts.Trials {
		parts = append(parts, withRepeats(trialSection(doc, l), doc))
	}
	kept := parts[:1]
	for _, part := range parts[1:] {
		if len(part.rows)+len(part.notes)+len(part.facts) > 0 {
			kept = append(kept, part)
		}
	}
	return kept
}

func headSection(doc Document) section {
	s := section{title: fmt.Sprintf("BenchmarkRun %s/%s", doc.Run.Namespace, doc.Run.Name)}
	add := func(name, value string) { s.facts = append(s.facts, fact{name, value}) }

	add("Result", doc.Headline())
	if doc.Completeness == Partial {
		add("Figures", "PARTIAL: "+doc.partialCause())
	}
	add("Testbed", doc.Run.Testbed)
	if doc.Plan != nil {
		add("Nodes", fmt.Sprintf("generator %s, device %s", doc.Plan.GeneratorNode, doc.Plan.DeviceNode))
		add("Plan", doc.Plan.Digest)
		switch seed := doc.Plan.OrderSeed; {
		case seed != nil:
			add("Order", fmt.Sprintf("sizes and latency loads at random, seed %d", *seed))
		case doc.Experiment.Measurements.HaveFrames():
			add("Order", "sizes and latency loads as the spec lists them")
		}
	}
	add("Chain", chain(doc.Experiment.Chain, doc.Chain))
	s.facts = append(s.facts, trafficFacts(doc.Experiment.Traffic)...)
	if doc.Run.StartTime != nil {
		add("Started", doc.Run.StartTime.UTC().Format(time.RFC3339))
	}
	if doc.Run.StartTime != nil && doc.Run.CompletionTime != nil {
		add("Took", brief(doc.Run.CompletionTime.Sub(doc.Run.StartTime.Time)))
	}
	if t := doc.TrialSummary; t.Recorded > 0 {
		add("Trials", fmt.Sprintf("%d in %s, %d of them marked invalid by the generator",
			t.Recorded, brief(time.Duration(t.TotalNanoseconds).Round(time.Second)), t.Invalid))
	}
	if v := doc.Versions; v.Operator != "" {
		add("Versions", fmt.Sprintf("operator %s, measurer %s, kubelet %s", v.Operator, orNone(v.Measurer), orNone(v.Kubelet)))
	}
	if len(doc.Sessions) > 0 {
		add("Sessions", sessionsInWords(doc.Sessions))
	}
	add("Rates", ratesInWords(doc.Experiment.Traffic))
	if repeats := doc.Experiment.Measurements.Repeats; repeats > 1 {
		scope := ""
		if doc.Experiment.Measurements.RepeatScope == v1alpha1.RepeatChain {
			scope = ", each on its own deployment of the chain"
		}
		add("Repeats", fmt.Sprintf("%d%s; figures are means of the repeats", repeats, scope))
	}
	return s
}

// sessionsInWords returns what each session made of the measurement.
func sessionsInWords(list []v1alpha1.Session) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = fmt.Sprintf("%d trials by %s", s.Trials, s.Measurer)
		if s.DiscardedTrials > 0 {
			parts[i] += fmt.Sprintf(" (%d of them discarded)", s.DiscardedTrials)
		}
	}
	return strings.Join(parts, ", ")
}

// Headline returns the verdict in one sentence.
func (d Document) Headline() string {
	word := map[metav1.ConditionStatus]string{
		metav1.ConditionTrue: "succeeded", metav1.ConditionFalse: "FAILED", metav1.ConditionUnknown: "not ended yet",
	}[d.Succeeded.Status]
	if d.Succeeded.Reason == v1alpha1.ReasonInconclusive {
		word = "INCONCLUSIVE"
	} else if d.Succeeded.Reason != "" && d.Succeeded.Reason != v1alpha1.ReasonSucceeded {
		word += ", " + d.Succeeded.Reason
	}
	if d.Succeeded.Message != "" {
		word += ": " + d.Succeeded.Message
	}
	return word
}

// partialCause returns why figures are missing.
func (d Document) partialCause() string {
	switch {
	case d.Ended():
		return "the run ended before everything was measured"
	case d.QueuePosition != nil && *d.QueuePosition >= 10:
		// The status rounds it down.
		return fmt.Sprintf("the run waits for its testbed at position %d of the queue or later", *d.QueuePosition)
	case d.QueuePosition != nil:
		return fmt.Sprintf("the run waits for its testbed at position %d of the queue", *d.QueuePosition)
	case d.Progress != nil:
		return fmt.Sprintf("the run is at %q, %d %% done, about %s left", d.Progress.Stage,
			d.Progress.Percent, brief(time.Duration(d.Progress.RemainingSeconds)*time.Second))
	}
	return "the run is active"
}

// chain describes the functions; their attachments are those of the plan where
// there is one.
func chain(functions []v1alpha1.NetworkFunction, reports []v1alpha1.FunctionReport) string {
	parts := make([]string, len(functions))
	for i, f := range functions {
		west, east := Attachments(f, reports)
		parts[i] = fmt.Sprintf("%s (%s in a %s, %s/%s)", f.Name, f.Function, f.Runtime, west, east)
	}
	return strings.Join(parts, " - ")
}

func acceptanceSection(doc Document) section {
	s := section{title: "Acceptance", columns: []column{left("Criterion"), left("Of"), left("Verdict"), left("Finding")}}
	for _, v := range doc.Acceptance {
		s.rows = append(s.rows, []string{v.Criterion, acceptance.About(v.FigureKey), string(v.Result), v.Message})
	}
	return s
}

func warningSection(doc Document) section {
	s := section{title: "Warnings", columns: []column{left("Code"), left("Size"), left("Message")}}
	for _, w := range doc.Warnings {
		size := "all"
		if w.Size != "" {
			size = w.Size
		}
		s.rows = append(s.rows, []string{w.Code, size, w.Message})
	}
	return s
}

// vlansInWords returns "" where frames had no tag.
func vlansInWords(g *v1alpha1.GeneratorReport) string {
	port := func(name string, number int32) string {
		if number == 0 {
			return name + " none"
		}
		return fmt.Sprintf("%s %d", name, number)
	}
	if g.WestVLAN == 0 && g.EastVLAN == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s; their 4 bytes are in rates on the wire, not in frame sizes", port("west", g.WestVLAN), port("east", g.EastVLAN))
}

// hopInWords says who is to blame for a frame that found no room, and why.
func hopInWords(g *v1alpha1.GeneratorReport) string {
	blame := map[measure.Hop]string{
		measure.HopInline:   "a frame that finds no room is the device's loss",
		measure.HopTap:      "a frame that finds no room in the generator is unsent; what the device does not take is its loss",
		measure.HopSeparate: "a frame that finds no room in the generator is unsent, and never the device's loss",
	}[measure.Hop(g.Hop)]
	if blame == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s; %s", g.Hop, g.HopReason, blame)
}

// generatorPortInWords says what a port does to frames: what it refuses, and how it delays interrupts.
func generatorPortInWords(port v1alpha1.GeneratorPort, l letters) string {
	var facts []string
	add := func(ok bool, fact string) {
		if ok {
			facts = append(facts, fact)
		}
	}
	add(port.NextHop != "", fmt.Sprintf("sends to %s, which answered for %s", port.NextHopMACAddress, port.NextHop))
	add(port.RefusedFrames == measure.RefusedCounted, "frames that it refuses are counted")
	add(port.RefusedFrames == measure.RefusedUnproven, "may drop frames without a count, so missing frames may be its own")
	if n := port.InterruptMicroseconds; n != nil {
		add(true, fmt.Sprintf("delays interrupts by up to %d %ss", *n, l.micro))
	}
	add(port.AdaptiveInterrupts, "delays them by the traffic")
	return strings.Join(facts, "; ")
}

func generatorSection(doc Document, l letters) section {
	if doc.Generator == nil {
		return section{}
	}
	g := doc.Generator
	s := section{title: "Generator", facts: []fact{{"Driver", g.Driver}}}
	add := func(name, value string) {
		if value != "" {
			s.facts = append(s.facts, fact{name, value})
		}
	}
	add("Image", g.ImageID)
	add("Transmit path", g.TransmitPath)
	add("Receive mode", g.ReceiveMode)
	add("VLAN tags", vlansInWords(g))
	if g.Threads > 0 {
		add("Sending cores", count(g.Threads))
	}
	add("Scheduling", g.Scheduling)
	if g.RingFrames > 0 {
		add("Receive ring", count(g.RingFrames)+" frames")
	}
	if g.FrameCostNanoseconds > 0 {
		add("Its own cost", count(g.FrameCostNanoseconds)+" ns of a core for each small frame")
	}
	add("Way to the device", hopInWords(g))
	for _, port := range g.Interfaces {
		add("Interface", interfaceInWords(port))
	}
	for _, port := range g.Ports {
		add("Port "+port.Name, generatorPortInWords(port, l))
	}
	if g.CPUs > 0 {
		add("CPUs it may use", fmt.Sprintf("%d, %d of them isolated", g.CPUs, g.IsolatedCPUs))
	}
	add("Scaling governor", strings.Join(g.ScalingGovernors, ", "))
	for _, fallback := range g.Fallbacks {
		add("Fallback", fallback)
	}
	if doc.Measured.Status == metav1.ConditionFalse {
		for _, line := range g.Log {
			add("Its log", line)
		}
	}
	if len(g.Calibration) == 0 {
		add("Calibration", "none: the generator's bias is unknown")
		return s
	}
	add("Calibration", "port to port without a device; the bias is in every delay above and is not subtracted")
	add("No delay bias at", strings.Join(withoutBias(doc.Results), ", "))
	s.columns = []column{left("Size"), number("Maximum kfps"), number("Slowest trial kfps"), number("Afterwards kfps"), number("Delay bias " + l.micro + "s")}
	for _, c := range g.Calibration {
		s.rows = append(s.rows, []string{c.Size, kiloFrames(c.MaximumFramesPerSecond), known(c.LowestFramesPerSecond, kiloFrames), known(c.FinalFramesPerSecond, kiloFrames), withSpread(c.LatencyBiasNanoseconds, c.LowestLatencyBiasNanoseconds, c.HighestLatencyBiasNanoseconds)})
	}
	return dropIfEmpty(s, "Afterwards kfps")
}

// withoutBias returns the loads of which the delay without a device is not known.
func withoutBias(results []v1alpha1.FrameResult) []string {
	var out []string
	note := func(frame v1alpha1.FrameResult, load string, bias *v1alpha1.LatencyBias) {
		if bias == nil {
			out = append(out, load+" of "+frameName(frame))
		}
	}
	for _, frame := range results {
		for _, l := range frame.Latency {
			note(frame, l.Load, l.Bias)
		}
		for _, f := range frame.FixedLoad {
			note(frame, f.Profile, f.Bias)
		}
		if frame.Soak != nil {
			note(frame, measure.SoakLoad, frame.Soak.Bias)
		}
	}
	return out
}

// Attachments returns the attachments of a function's ports: as planned, else as requested.
func Attachments(function v1alpha1.NetworkFunction, reports []v1alpha1.FunctionReport) (west, east v1alpha1.Attachment) {
	for _, report := range reports {
		if report.Name == function.Name && len(report.Attachments) == 2 {
			return report.Attachments[0], report.Attachments[1]
		}
	}
	return function.EffectiveAttachment(function.West), function.EffectiveAttachment(function.East)
}
