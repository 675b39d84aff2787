package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkRunSpec is one experiment and how its object is kept.
type BenchmarkRunSpec struct {
	// suspend stops the run where it is and gives the testbed to others; the
	// trials so far are kept, and it goes on when suspend is false again.
	// Default false.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// ttlSecondsAfterFinished is how long the run is kept after it has ended.
	// Absent: for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// experiment is what is measured, where and how. It cannot be changed: a
	// figure belongs to one experiment.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a run's experiment is immutable, only suspend and ttlSecondsAfterFinished may change: apply the change under a new name, or delete the run first"
	Experiment Experiment `json:"experiment,omitzero"`
}

// Experiment is everything that decides what is measured. It is immutable as a
// whole: a field that is added to it cannot be changed either.
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || self.acceptance.all(a, !has(a.goal) || (has(self.measurements.throughput) && self.measurements.throughput.goals.exists(g, g.name == a.goal)))",message="acceptance names a goal that measurements.throughput.goals does not have: add the goal, or name one that is measured",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || self.acceptance.all(a, !has(a.load) || a.metric.startsWith('Connections') || (has(self.measurements.latency) && (has(self.measurements.latency.loads) ? self.measurements.latency.loads.exists(l, l.name == a.load) : (!has(self.measurements.latency.preset) || self.measurements.latency.preset == 'Standard' ? a.load in ['idle', 'pdr50', 'pdr90'] : (self.measurements.latency.preset == 'CSIT' ? a.load in ['idle', 'pdr10', 'pdr50', 'pdr90'] : (self.measurements.latency.preset == 'NDR95' ? a.load in ['idle', 'ndr95'] : a.load == 'ndr100'))))) || (has(self.measurements.fixedLoad) && self.measurements.fixedLoad.profiles.exists(p, p.name == a.load)) || (has(self.measurements.soak) && a.load == 'soak'))",message="acceptance names a load that measurements.latency.loads does not have: add the load, or name one that is measured",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || !has(self.measurements.fixedLoad) || self.acceptance.all(a, !has(a.load) || a.metric.startsWith('Connections') || self.measurements.fixedLoad.profiles.all(p, p.name != a.load || (has(a.frameBytes) && (!p.size.matches('^[1-9][0-9]{1,4}$') || a.frameBytes == int(p.size)))))",message="a criterion on a profile of measurements.fixedLoad needs the profile's frameBytes",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || has(self.measurements.backToBack) || self.acceptance.all(a, a.metric != 'BackToBackFrames')",message="a criterion on BackToBackFrames needs measurements.backToBack",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || has(self.measurements.receiveRate) || self.acceptance.all(a, a.metric != 'ReceiveRateFramesPerSecond')",message="a criterion on ReceiveRateFramesPerSecond needs measurements.receiveRate",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || self.acceptance.all(a, !a.metric.startsWith('TCP') || (has(self.measurements.tcp) && (!has(a.streams) || a.streams in self.measurements.tcp.streams)))",message="a criterion on a TCP metric needs measurements.tcp, and one of its streams: measure tcp with that number, or name one that is measured",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || !has(self.measurements.soak) || self.acceptance.all(a, !has(a.load) || a.load != 'soak' || (has(a.frameBytes) && (!self.measurements.soak.size.matches('^[1-9][0-9]{1,4}$') || a.frameBytes == int(self.measurements.soak.size)) && a.metric in ['LossPartsPerMillion', 'LatencyMeanNanoseconds', 'LatencyP99Nanoseconds', 'LatencyMaxNanoseconds', 'JitterNanoseconds']))",message="a criterion on the load soak needs the soak's frameBytes, and one of the metrics LossPartsPerMillion, LatencyMeanNanoseconds, LatencyP99Nanoseconds, LatencyMaxNanoseconds and JitterNanoseconds",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.soak) || (self.measurements.soak.size.matches('^[1-9][0-9]{1,4}$') && (int(self.measurements.soak.size) in self.traffic.frameBytes || (has(self.traffic.frameRanges) && self.traffic.frameRanges.exists(r, r.from <= int(self.measurements.soak.size) && int(self.measurements.soak.size) <= r.to && (int(self.measurements.soak.size) - r.from) % r.step == 0)))) || (has(self.traffic.imix) && self.traffic.imix.exists(m, m.name == self.measurements.soak.size)) || (has(self.traffic.packets) && self.measurements.soak.size.matches('^udp-[1-9][0-9]{3,4}$') && self.traffic.packets.exists(k, k.payloadBytes == int(self.measurements.soak.size.substring(4))))",message="measurements.soak.size is no size of traffic.frameBytes or frameRanges, nor the name of a mix in imix, nor udp- and the payloadBytes of one of packets: add the size, or name one that is measured",fieldPath=".measurements.soak.size"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || (has(self.measurements.latency) && has(self.measurements.latency.taggedFrame)) || self.acceptance.all(a, a.metric != 'TaggedFrameMeanNanoseconds')",message="a criterion on TaggedFrameMeanNanoseconds needs measurements.latency.taggedFrame",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.latency) || !has(self.measurements.latency.taggedFrame) || self.measurements.latency.taggedFrame.streams * self.measurements.latency.taggedFrame.streamMilliseconds < self.deadlineSeconds * 1000",message="the streams of measurements.latency.taggedFrame for one load of one frame size alone take as long as the whole run may: raise deadlineSeconds, or lower streams or streamMilliseconds",fieldPath=".deadlineSeconds"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.soak) || self.measurements.soak.durationSeconds < self.deadlineSeconds",message="the soak alone takes as long as the whole run may: raise deadlineSeconds, or lower measurements.soak.durationSeconds",fieldPath=".deadlineSeconds"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.fixedLoad) || self.measurements.fixedLoad.profiles.all(p, (p.size.matches('^[1-9][0-9]{1,4}$') && (int(p.size) in self.traffic.frameBytes || (has(self.traffic.frameRanges) && self.traffic.frameRanges.exists(r, r.from <= int(p.size) && int(p.size) <= r.to && (int(p.size) - r.from) % r.step == 0)))) || (has(self.traffic.imix) && self.traffic.imix.exists(m, m.name == p.size)) || (has(self.traffic.packets) && p.size.matches('^udp-[1-9][0-9]{3,4}$') && self.traffic.packets.exists(k, k.payloadBytes == int(p.size.substring(4)))))",message="the size of a profile of measurements.fixedLoad is no size of traffic.frameBytes or frameRanges, nor the name of a mix in imix, nor udp- and the payloadBytes of one of packets: add the size, or name one that is measured",fieldPath=".measurements.fixedLoad.profiles"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || self.acceptance.all(a, !has(a.frameBytes) || a.frameBytes in self.traffic.frameBytes || (has(self.traffic.frameRanges) && self.traffic.frameRanges.exists(r, r.from <= a.frameBytes && a.frameBytes <= r.to && (a.frameBytes - r.from) % r.step == 0)) || (has(self.traffic.imix) && self.traffic.imix.exists(m, a.frameBytes == (has(m.frames) ? (2 * m.frames.map(f, f.frameBytes * f.weight).sum() + m.frames.map(f, f.weight).sum()) / (2 * m.frames.map(f, f.weight).sum()) : 362))) || (has(self.traffic.packets) && self.traffic.packets.exists(p, a.frameBytes == p.payloadBytes + (has(self.traffic.ipFamily) && self.traffic.ipFamily == 'IPv6' ? 66 : 46))))",message="acceptance names a frame size that traffic.frameBytes does not have, nor frameRanges, imix or packets: add the size, or name one that is measured (of a mix, its mean size; of a packet, payloadBytes + 46, over IPv6 + 66)",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="self.chain.all(f, (!has(f.west.mtuBytes) || self.traffic.frameBytes.all(b, b <= f.west.mtuBytes + 18)) && (!has(f.east.mtuBytes) || self.traffic.frameBytes.all(b, b <= f.east.mtuBytes + 18)))",message="a frame size is larger than a port of the chain carries (mtuBytes + 18): lower traffic.frameBytes or raise the port's mtuBytes",fieldPath=".traffic.frameBytes"
// +kubebuilder:validation:XValidation:rule="!has(self.traffic.frameRanges) || self.chain.all(f, (!has(f.west.mtuBytes) || self.traffic.frameRanges.all(r, r.from <= f.west.mtuBytes + 18 && r.to - (r.to - r.from) % r.step <= f.west.mtuBytes + 18)) && (!has(f.east.mtuBytes) || self.traffic.frameRanges.all(r, r.from <= f.east.mtuBytes + 18 && r.to - (r.to - r.from) % r.step <= f.east.mtuBytes + 18)))",message="a range has a frame size that is larger than a port of the chain carries (mtuBytes + 18): lower to in traffic.frameRanges or raise the port's mtuBytes",fieldPath=".traffic.frameRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.traffic.imix) || self.chain.all(f, (!has(f.west.mtuBytes) || self.traffic.imix.all(m, has(m.frames) ? m.frames.all(x, x.frameBytes <= f.west.mtuBytes + 18) : f.west.mtuBytes >= 1500)) && (!has(f.east.mtuBytes) || self.traffic.imix.all(m, has(m.frames) ? m.frames.all(x, x.frameBytes <= f.east.mtuBytes + 18) : f.east.mtuBytes >= 1500)))",message="a mix has a frame size that is larger than a port of the chain carries (mtuBytes + 18; SimpleIMIX has frames of 1518): lower it in traffic.imix or raise the port's mtuBytes",fieldPath=".traffic.imix"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.noisyNeighbors) || (has(self.noisyNeighbors) && self.noisyNeighbors.size() > 0)",message="measurements.noisyNeighbors says how noisy neighbors are measured, and there are none: add noisyNeighbors, or leave it out",fieldPath=".measurements.noisyNeighbors"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || (has(self.measurements.repeats) && self.measurements.repeats > 1) || self.acceptance.all(a, !has(a.statistic) || a.statistic != 'ConfidenceLimit')",message="statistic ConfidenceLimit needs repeats: set measurements.repeats to 2 or more",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.acceptance) || self.acceptance.all(a, !a.metric.startsWith('Connections') || (has(self.measurements.connections) && self.measurements.connections.loads.exists(l, l.name == a.load && (a.metric != 'ConnectionsHeld' || has(l.concurrentConnections)) && (a.metric != 'ConnectionsEstablishedPerSecond' || !has(l.concurrentConnections)))))",message="a criterion on a Connections metric needs one of measurements.connections.loads: ConnectionsHeld one with concurrentConnections, ConnectionsEstablishedPerSecond one without",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.connections) || self.chain.all(f, !has(f.firewall) || f.firewall.matchBy == 'Address')",message="a firewall's matchBy Port looks at ports of UDP, so that measurements.connections would not pass it: use matchBy Address",fieldPath=".chain"
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || !has(self.acceptance) || self.acceptance.all(a, a.name != 'baseline')",message="a criterion is named baseline, as the verdicts on spec.experiment.baseline are: give it another name",fieldPath=".acceptance"
// +kubebuilder:validation:XValidation:rule="!has(self.measurements.tcp) || self.chain.all(f, !has(f.firewall) || f.firewall.matchBy == 'Address')",message="a firewall's matchBy Port looks at ports of UDP, so that measurements.tcp would not pass it: use matchBy Address",fieldPath=".chain"
// +kubebuilder:validation:XValidation:rule="!has(self.traffic.packets) || self.traffic.packets.size() == 0 || self.chain.all(f, !has(f.firewall) || f.firewall.mode != 'Stateless' || f.firewall.matchBy == 'Address')",message="fragments behind a packet's first have no port, so that a Stateless firewall with matchBy Port would drop traffic.packets: use matchBy Address, or mode Stateful",fieldPath=".chain"
// +kubebuilder:validation:XValidation:rule="[0, 1, 2, 3, 4, 5, 6, 7].all(i, i >= self.chain.size() || self.chain[i].function != 'EncryptionGateway' || [0, 1, 2, 3, 4, 5, 6].filter(j, j < i && self.chain[j].function == 'EncryptionGateway').size() % 2 == 1 || (i + 1 < self.chain.size() && self.chain[i + 1].function == 'EncryptionGateway' && (has(self.chain[i].encryptionGateway) ? self.chain[i].encryptionGateway.protocol : 'WireGuard') == (has(self.chain[i + 1].encryptionGateway) ? self.chain[i + 1].encryptionGateway.protocol : 'WireGuard')))",message="encryption gateways stand in pairs, one right beside the other, with the same protocol: add the missing one, or give both the same protocol",fieldPath=".chain"
type Experiment struct {
	// testbedRef names the Testbed, whose spec.namespaces must allow the run's
	// namespace. Absent: the cluster's default Testbed at the time when the run is
	// first looked at, which status.testbedRef then names.
	// +optional
	TestbedRef *TestbedReference `json:"testbedRef,omitempty"`

	// startupSeconds is how long pods may take until frames pass through the
	// chain. Default 300.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	StartupSeconds int32 `json:"startupSeconds,omitempty"`

	// deadlineSeconds is how long the measurer may take in all, restarts
	// included. Default 86400 (a day).
	// +optional
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=604800
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`

	// chain is the network functions from west to east, one to eight of them.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Chain []NetworkFunction `json:"chain,omitempty"`

	// traffic is what the frames look like. Default: UDP over IPv4, both
	// directions, frames of 64, 512 and 1518 bytes.
	// +optional
	// +kubebuilder:default={}
	Traffic Traffic `json:"traffic,omitzero"`

	// measurements are what is measured. Default: throughput without loss (NDR)
	// and with at most 0.1 % loss (PDR), and latency at idle and at 50 % and
	// 90 % of PDR.
	// +optional
	// +kubebuilder:default={throughput: {}, latency: {}}
	Measurements Measurements `json:"measurements,omitzero"`

	// noisyNeighbors are loads on the device's node beside the chain, all at once,
	// while frames are sent through the chain. Absent: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	NoisyNeighbors []NoisyNeighbor `json:"noisyNeighbors,omitempty"`

	// acceptance is what the results must reach for the run to succeed. Absent:
	// every measured result succeeds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Acceptance []Criterion `json:"acceptance,omitempty"`

	// baseline is an earlier run: figures that are worse than its own by more than
	// is allowed are not accepted. Absent: none.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`
}

// TestbedReference names a Testbed.
type TestbedReference struct {
	// name of the Testbed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// BenchmarkRunStatus is how far the run is and what it found.
type BenchmarkRunStatus struct {
	// conditions: Succeeded is the summary; Admitted, Planned, ChainReady,
	// Measured and Accepted are the milestones; Reconciling and Stalled stand
	// only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// testbedRef names the Testbed that the run uses: that of the spec, or the
	// cluster's default when the run was first looked at. It does not change.
	// +optional
	TestbedRef *TestbedReference `json:"testbedRef,omitempty"`

	// queuePosition is the place in the testbed's queue while the run waits:
	// 1 is next. Absent when it does not wait.
	// +optional
	// +kubebuilder:validation:Minimum=1
	QueuePosition *int32 `json:"queuePosition,omitempty"`

	// startTime is when the run first got its testbed.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// plan says where and with what the run was made, so that it can be repeated.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// progress of the measurement while it goes on.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// summary is the first frame size's figures, for the printer columns.
	// +optional
	Summary *ResultSummary `json:"summary,omitempty"`

	// generator says how the traffic was made.
	// +optional
	Generator *GeneratorReport `json:"generator,omitempty"`

	// chain says what each function turned out to be, in the chain's order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Chain []FunctionReport `json:"chain,omitempty"`

	// device says what the chain ran on, as its node showed it.
	// +optional
	Device *DeviceReport `json:"device,omitempty"`

	// noisyNeighbors says what the neighbours did, and what they changed. Absent:
	// there are none, or nothing is known of them yet.
	// +optional
	NoisyNeighbors *NoisyNeighborsReport `json:"noisyNeighbors,omitempty"`

	// results holds one entry for each size that has been measured.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Results []FrameResult `json:"results,omitempty"`

	// tcp is what measurements.tcp found.
	// +optional
	TCP *TCPResult `json:"tcp,omitempty"`

	// connections is what measurements.connections found.
	// +optional
	Connections *ConnectionsResult `json:"connections,omitempty"`

	// baseline is the earlier run's figures beside this run's, with spec.experiment.baseline.
	// +optional
	Baseline *BaselineReport `json:"baseline,omitempty"`

	// acceptance holds one verdict for each criterion and figure; those on the
	// baseline have the criterion baseline.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Acceptance []Verdict `json:"acceptance,omitempty"`

	// warnings are doubts about figures that stand beside them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Warnings []Warning `json:"warnings,omitempty"`

	// resultsRef names the ConfigMap that holds every trial; it lives as long as the run.
	// +optional
	ResultsRef *LocalReference `json:"resultsRef,omitempty"`
}

// BenchmarkRun is one experiment: a chain of network functions on a testbed,
// measured once.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bmr,categories=vnfbench
// +kubebuilder:printcolumn:name="Testbed",type=string,JSONPath=`.status.testbedRef.name`,priority=1
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Progress",type=integer,JSONPath=`.status.progress.percent`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.summary.size`,priority=1
// +kubebuilder:printcolumn:name="Goal",type=string,JSONPath=`.status.summary.goal`
// +kubebuilder:printcolumn:name="Frames/s",type=integer,JSONPath=`.status.summary.framesPerSecond`
// +kubebuilder:printcolumn:name="P99(ns)",type=integer,JSONPath=`.status.summary.p99Nanoseconds`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Queue",type=integer,JSONPath=`.status.queuePosition`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.experiment.baseline) || self.spec.experiment.baseline.runRef.name != self.metadata.name",message="a run cannot be its own baseline: name an earlier run",fieldPath=".spec.experiment.baseline.runRef"
type BenchmarkRun struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the experiment.
	// +required
	Spec BenchmarkRunSpec `json:"spec,omitzero"`

	// status is how far it is and what it found.
	// +optional
	Status BenchmarkRunStatus `json:"status,omitzero"`
}

// BenchmarkRunList is a list of BenchmarkRuns.
// +kubebuilder:object:root=true
type BenchmarkRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BenchmarkRun `json:"items"`
}

// TestbedName is the name of the Testbed that the run uses; "" while it names none
// and no default has been found.
func (r *BenchmarkRun) TestbedName() string {
	if ref := r.Spec.Experiment.TestbedRef; ref != nil {
		return ref.Name
	}
	if ref := r.Status.TestbedRef; ref != nil {
		return ref.Name
	}
	return ""
}
