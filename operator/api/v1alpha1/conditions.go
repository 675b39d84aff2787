package v1alpha1

// Condition types of a BenchmarkRun.
const (
	// ConditionSucceeded is the summary: Unknown while the run is active, then True or False
	// permanently. True means measured and accepted, or Inconclusive and allowed.
	ConditionSucceeded = "Succeeded"
	// ConditionAdmitted is True while the run holds its testbed.
	ConditionAdmitted = "Admitted"
	// ConditionPlanned is True when every object, address and node is chosen.
	ConditionPlanned = "Planned"
	// ConditionChainReady is True when every function of the chain reports that it forwards.
	ConditionChainReady = "ChainReady"
	// ConditionMeasured is True when the figures are complete and valid.
	ConditionMeasured = "Measured"
	// ConditionAccepted is True when every criterion passed, False when one failed, and Unknown
	// with the reason Inconclusive when the figures cannot decide one.
	ConditionAccepted = "Accepted"
	// ConditionReconciling is True while the run is active, and absent otherwise (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the run has failed, and absent otherwise (kstatus).
	ConditionStalled = "Stalled"
	// ConditionArchived is True when the archive has the document of the run or of the execution, and False or Unknown, with the reason, while it
	// does not. Absent: no results service has looked at it. It says nothing of the run itself.
	ConditionArchived = "Archived"
)

// Condition types of a Testbed.
const (
	// ConditionReady is True when the testbed can take runs.
	ConditionReady = "Ready"
	// ConditionCalibrated is True when the generator has measured itself without a device.
	ConditionCalibrated = "Calibrated"
)

// Reasons of conditions and events. Each is part of the API.
const (
	// ReasonSucceeded: the run was measured and accepted.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing: the run is active.
	ReasonProgressing = "Progressing"
	// ReasonPending: the milestone has not been reached yet.
	ReasonPending = "Pending"
	// ReasonQueued: other runs hold the testbed; queuePosition says how many are before it.
	ReasonQueued = "Queued"
	// ReasonAdmitted: the run holds the testbed.
	ReasonAdmitted = "Admitted"
	// ReasonReleased: the run has released the testbed.
	ReasonReleased = "Released"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonDeleting: the object is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonPlanned: the plan is made.
	ReasonPlanned = "Planned"
	// ReasonChainReady: every function reports that it forwards.
	ReasonChainReady = "ChainReady"
	// ReasonRedeploying: the chain is deleted and launched again, for the next repeat or after the
	// run was suspended.
	ReasonRedeploying = "Redeploying"
	// ReasonWaiting: something that may pass by itself keeps the run from starting; the message names it.
	ReasonWaiting = "Waiting"
	// ReasonMeasuring: the measurer runs trials.
	ReasonMeasuring = "Measuring"
	// ReasonMeasured: the figures are complete.
	ReasonMeasured = "Measured"
	// ReasonAccepted: every criterion passed, or there was none.
	ReasonAccepted = "Accepted"
	// ReasonNotAccepted: a criterion failed; status.acceptance lists which.
	ReasonNotAccepted = "NotAccepted"
	// ReasonInconclusive: no criterion failed, and the figures cannot decide one; status.acceptance says which and why.
	ReasonInconclusive = "Inconclusive"
	// ReasonNotMeasured: there are no figures to judge, because the run failed.
	ReasonNotMeasured = "NotMeasured"

	// ReasonBaselineUnusable: spec.experiment.baseline names a run that does not exist, was
	// not measured, measured something else, or has no figure to compare with.
	ReasonBaselineUnusable = "BaselineUnusable"
	// ReasonNoDefaultTestbed: the run names no Testbed, and none is marked as the cluster's default. The run waits for one.
	ReasonNoDefaultTestbed = "NoDefaultTestbed"
	// ReasonNamespaceNotAllowed: the Testbed's spec.namespaces does not choose the run's namespace. The run waits until it does.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonInvalidNamespaceSelector: the Testbed's spec.namespaces.selector cannot be read, so no namespace is allowed.
	ReasonInvalidNamespaceSelector = "InvalidNamespaceSelector"
	// ReasonTestbedNotFound: the cluster has no Testbed with the name that the run gives. The
	// run waits for it.
	ReasonTestbedNotFound = "TestbedNotFound"
	// ReasonTestbedNotReady: the Testbed's condition Ready is not True. The run waits for it.
	ReasonTestbedNotReady = "TestbedNotReady"
	// ReasonNodeBusy: a run of another Testbed measures on a node of the plan. The run waits for it.
	ReasonNodeBusy = "NodeBusy"
	// ReasonNoMatchingNode: no schedulable node matches the testbed's selectors.
	ReasonNoMatchingNode = "NoMatchingNode"
	// ReasonNodesNotReady: every node that matches the testbed's selectors is cordoned or not
	// ready.
	ReasonNodesNotReady = "NodesNotReady"
	// ReasonAttachmentNotOffered: a function requests an attachment that the testbed does not
	// list.
	ReasonAttachmentNotOffered = "AttachmentNotOffered"
	// ReasonRealtimeNotOffered: a virtual machine requests platform.realtime, and the testbed
	// does not offer it.
	ReasonRealtimeNotOffered = "RealtimeNotOffered"
	// ReasonIncompatibleAttachments: the two ports of a link have attachments that cannot be
	// joined, or a port has one on which its function cannot forward.
	ReasonIncompatibleAttachments = "IncompatibleAttachments"
	// ReasonResourceMissing: no node offers the device plugin's resources that the ports take, or two ports of a node take the
	// same whole NIC.
	ReasonResourceMissing = "ResourceMissing"
	// ReasonImageMissing: the testbed's driver is TRex, and neither the testbed nor the operator names an image with it.
	ReasonImageMissing = "ImageMissing"
	// ReasonInvalidGeneratorConfiguration: the testbed's extraConfiguration for TRex sets
	// what it may not set, or is too long.
	ReasonInvalidGeneratorConfiguration = "InvalidGeneratorConfiguration"
	// ReasonPlanChanged: the plan's ConfigMap is not the one that the operator made.
	ReasonPlanChanged = "PlanChanged"
	// ReasonObjectTaken: an object with the name of one of the run's has fields of another writer.
	ReasonObjectTaken = "ObjectTaken"
	// ReasonInvalidQuantity: an amount of CPU, memory or disk cannot be read.
	ReasonInvalidQuantity = "InvalidQuantity"
	// ReasonInvalidConfiguration: a function or an end of TCP connections would refuse its configuration, or a
	// user's own container has no right to read its ports.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	// ReasonNotOfferedByDriver: the run requests traffic or a measurement that the testbed's
	// driver does not support.
	ReasonNotOfferedByDriver = "NotOfferedByDriver"
	// ReasonFrameTooLarge: a frame size exceeds what a port or the driver carries.
	ReasonFrameTooLarge = "FrameTooLarge"
	// ReasonDuplicateFrameSize: two of a run's sizes have one name, or a mix cannot be sent.
	ReasonDuplicateFrameSize = "DuplicateFrameSize"
	// ReasonPacketNotFragmented: a packet of traffic.packets fits a frame, makes too
	// many fragments, or would leave by a port with a VLAN tag.
	ReasonPacketNotFragmented = "PacketNotFragmented"
	// ReasonLoadAboveLineRate: a load exceeds the line rate of the testbed's link.
	ReasonLoadAboveLineRate = "LoadAboveLineRate"
	// ReasonInvalidLoadRange: with a frame size, the minimum load is not below the maximum load, or a load or a trial is less than one frame.
	ReasonInvalidLoadRange = "InvalidLoadRange"
	// ReasonNetworkAttachmentMissing: a NetworkAttachmentDefinition does not exist, or Multus is not installed.
	ReasonNetworkAttachmentMissing = "NetworkAttachmentMissing"
	// ReasonInsufficientCPU: no node has the CPU that the run's pods request.
	ReasonInsufficientCPU = "InsufficientCPU"
	// ReasonInsufficientMemory: no node has the memory that the run's pods request.
	ReasonInsufficientMemory = "InsufficientMemory"
	// ReasonInsufficientStorage: no node has the ephemeral storage that the run's noisy neighbors request.
	ReasonInsufficientStorage = "InsufficientStorage"
	// ReasonIssuerNotReadable: the API server does not show the operator who makes the tokens of service accounts, by which
	// agents know the measurer.
	ReasonIssuerNotReadable = "IssuerNotReadable"
	// ReasonAPIServerNotReadable: the operator cannot read the addresses of the API server, which alone the measurer may
	// reach next to its own run.
	ReasonAPIServerNotReadable = "APIServerNotReadable"
	// ReasonPodForbidden: the namespace's admission (Pod Security, quota, a webhook) refuses a pod of the run.
	ReasonPodForbidden = "PodForbidden"
	// ReasonLaunchFailed: the API server could not make an object of the run for startupSeconds.
	ReasonLaunchFailed = "LaunchFailed"
	// ReasonUnschedulable: a pod found no node within startupSeconds.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImageUnavailable: a pod's image cannot be pulled.
	ReasonImageUnavailable = "ImageUnavailable"
	// ReasonPodStuck: a pod did not start within startupSeconds.
	ReasonPodStuck = "PodStuck"
	// ReasonChainNotReady: a function did not become ready within startupSeconds.
	ReasonChainNotReady = "ChainNotReady"
	// ReasonNeighborNotStarted: a neighbor did not become ready within startupSeconds, or did
	// not start its load.
	ReasonNeighborNotStarted = "NeighborNotStarted"
	// ReasonChainFailed: a function that was ready crashed, was evicted, or stopped forwarding.
	ReasonChainFailed = "ChainFailed"
	// ReasonKubeVirtNotInstalled: the chain has a virtual machine, and the cluster does not know the kind.
	ReasonKubeVirtNotInstalled = "KubeVirtNotInstalled"
	// ReasonInsufficientHugepages: no node has the hugepages that the generator or the run's
	// virtual machines request.
	ReasonInsufficientHugepages = "InsufficientHugepages"
	// ReasonVirtualMachineRejected: KubeVirt's admission rejects a virtual machine of the
	// run.
	ReasonVirtualMachineRejected = "VirtualMachineRejected"
	// ReasonInvalidPlaceholder: user data or network data of a function Custom has an unknown
	// placeholder, or a text of its container an unknown variable.
	ReasonInvalidPlaceholder = "InvalidPlaceholder"
	// ReasonVirtualMachineNotStarted: KubeVirt did not start a virtual machine within
	// startupSeconds, or gave up.
	ReasonVirtualMachineNotStarted = "VirtualMachineNotStarted"
	// ReasonVirtualMachineMismatch: a virtual machine differs from what was requested, and
	// its platform.onDifference is Fail.
	ReasonVirtualMachineMismatch = "VirtualMachineMismatch"
	// ReasonCannotLoadBPF: the node's kernel or the pod's rights do not allow the driver's
	// BPF programs.
	ReasonCannotLoadBPF = "CannotLoadBPF"
	// ReasonPortMissing: a traffic port does not exist in the traffic pod.
	ReasonPortMissing = "PortMissing"
	// ReasonPortDown: a traffic port exists and has no carrier.
	ReasonPortDown = "PortDown"
	// ReasonPortBusy: another XDP program is attached to a traffic port.
	ReasonPortBusy = "PortBusy"
	// ReasonInvalidPath: the ports or streams of the plan cannot be used as they are.
	ReasonInvalidPath = "InvalidPath"
	// ReasonInvalidTrial: the driver cannot make the requested trial.
	ReasonInvalidTrial = "InvalidTrial"
	// ReasonFrameTooSmall: headers and signature do not fit into the frame size.
	ReasonFrameTooSmall = "FrameTooSmall"
	// ReasonCannotTransmit: the kernel refuses to run the transmit program.
	ReasonCannotTransmit = "CannotTransmit"
	// ReasonTRexVersion: the traffic pod's TRex server has another version of the interactive
	// API than the measurer.
	ReasonTRexVersion = "TRexVersion"
	// ReasonNextHopUnresolved: no machine answered for the address to which the generator sends.
	ReasonNextHopUnresolved = "NextHopUnresolved"
	// ReasonNoPathThroughChain: no probe frame came through the chain.
	ReasonNoPathThroughChain = "NoPathThroughChain"
	// ReasonGeneratorUnreliable: the generator repeatedly doubted its own trials.
	ReasonGeneratorUnreliable = "GeneratorUnreliable"
	// ReasonEndpointFailed: a pod at an end of the TCP connections crashed, was deleted or
	// does not answer, or iperf3 failed there; or TRex's TCP failed.
	ReasonEndpointFailed = "EndpointFailed"
	// ReasonTCPSettingRefused: the kernel, iperf3 or TRex refuses a setting of measurements.tcp.
	ReasonTCPSettingRefused = "TCPSettingRefused"
	// ReasonTRexMissing: the traffic pod's image has no TRex server, or one that its node cannot run.
	ReasonTRexMissing = "TRexMissing"
	// ReasonTRexServerFailed: the TRex server did not start, ended, or does not answer, and a
	// restart did not help.
	ReasonTRexServerFailed = "TRexServerFailed"
	// ReasonNotRoot: the traffic pod does not run as uid 0, which its driver needs.
	ReasonNotRoot = "NotRoot"
	// ReasonCapabilityMissing: the traffic pod lacks a capability that its driver needs; the message names each.
	ReasonCapabilityMissing = "CapabilityMissing"
	// ReasonTooFewCores: the traffic pod has fewer CPUs than its driver's threads need.
	ReasonTooFewCores = "TooFewCores"
	// ReasonHugepagesMissing: the traffic pod has no hugepages, or fewer than its driver is
	// configured to use.
	ReasonHugepagesMissing = "HugepagesMissing"
	// ReasonDeviceUnusable: a traffic port's device exists and cannot be driven from the pod.
	ReasonDeviceUnusable = "DeviceUnusable"
	// ReasonLockedMemoryLimit: the traffic pod may lock less memory than its devices need.
	ReasonLockedMemoryLimit = "LockedMemoryLimit"
	// ReasonControlPortsOpen: the TCP ports of the TRex server, which need no password, could
	// not be closed to other pods.
	ReasonControlPortsOpen = "ControlPortsOpen"
	// ReasonMeasurerFailed: the measurer crashed more often than the operator restarts it.
	ReasonMeasurerFailed = "MeasurerFailed"
	// ReasonResultsTooLarge: the trials do not fit into the results' ConfigMap; the plan refuses what cannot fit.
	ReasonResultsTooLarge = "ResultsTooLarge"
	// ReasonResultsNotStored: the measurer could not write a trial to the API server.
	ReasonResultsNotStored = "ResultsNotStored"
	// ReasonResultRejected: the API server rejects the status with the figures; the trials
	// are kept.
	ReasonResultRejected = "ResultRejected"
	// ReasonStatusTooLarge: the status with the figures is larger than the API server takes; the
	// trials are kept.
	ReasonStatusTooLarge = "StatusTooLarge"
	// ReasonResultsLost: the results' ConfigMap was deleted, or changed by someone else.
	ReasonResultsLost = "ResultsLost"
	// ReasonVersionMismatch: operator and measurer have different versions, because the
	// operator was replaced during the run or an image was not built again.
	ReasonVersionMismatch = "VersionMismatch"
	// ReasonDeadlineExceeded: the measurer took longer than deadlineSeconds.
	ReasonDeadlineExceeded = "DeadlineExceeded"

	// ReasonMeasurerRestarted: a new measurer continues after the last trial of the one
	// before. Only an event has it.
	ReasonMeasurerRestarted = "MeasurerRestarted"
	// ReasonBridgeCleanupIncomplete: a deleted testbed's bridges could not be removed from a
	// node. Only an event has it.
	ReasonBridgeCleanupIncomplete = "BridgeCleanupIncomplete"

	// ReasonHistoryLimit: a finished run was deleted, or cannot be, because its Testbed has more than historyLimit. Only an
	// event has it.
	ReasonHistoryLimit = "HistoryLimit"

	// ReasonKeptUnarchived: a run or an execution is not deleted as it should be, because the archive does not have its document yet. Only an event
	// has it.
	ReasonKeptUnarchived = "KeptUnarchived"

	// ReasonReady: the testbed can take runs; the suite can be executed.
	ReasonReady = "Ready"
	// ReasonCalibrated: a run has calibrated the generator.
	ReasonCalibrated = "Calibrated"
	// ReasonNotCalibrated: no run has calibrated the generator yet, or its ports do not allow it.
	ReasonNotCalibrated = "NotCalibrated"
)

// Reasons of suites and their executions. Each is part of the API.
const (
	// ReasonTooManyCells: the matrix has more cells, or with its repeats more measurements, than an execution takes.
	ReasonTooManyCells = "TooManyCells"
	// ReasonInvalidMatrix: an axis, a combination or the name of a cell cannot be used.
	ReasonInvalidMatrix = "InvalidMatrix"
	// ReasonAxisPathNotFound: an experiment has no field at the path of an axis.
	ReasonAxisPathNotFound = "AxisPathNotFound"
	// ReasonAxesConflict: an axis replaces what an earlier one has set, or the patch of a cell what its values have set.
	ReasonAxesConflict = "AxesConflict"
	// ReasonInvalidExperiment: the experiment of the suite or of a cell is none that a run can have.
	ReasonInvalidExperiment = "InvalidExperiment"
	// ReasonCellRefused: the API server refuses a cell as a BenchmarkRun.
	ReasonCellRefused = "CellRefused"
	// ReasonCellNotPlanned: a cell does not fit its testbed; the message has the reason of the plan.
	ReasonCellNotPlanned = "CellNotPlanned"
	// ReasonPlanning: cells are tried and planned, before the first one is measured.
	ReasonPlanning = "Planning"
	// ReasonMeasurementsFailed: at least one measurement failed; the table of cells says which.
	ReasonMeasurementsFailed = "MeasurementsFailed"
	// ReasonFailedFast: a measurement failed, and spec.template.failFast skips the rest.
	ReasonFailedFast = "FailedFast"
	// ReasonMaximumDurationExceeded: the execution took longer than spec.template.maximumDurationMinutes.
	ReasonMaximumDurationExceeded = "MaximumDurationExceeded"
	// ReasonInvalidSchedule: the schedule or its time zone cannot be read, or it never fires.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonNotExecuted: no execution was made yet.
	ReasonNotExecuted = "NotExecuted"
	// ReasonExecutionDeleted: the latest execution was deleted before it ended.
	ReasonExecutionDeleted = "ExecutionDeleted"
	// ReasonPointsNotKept: the figures of a measurement could not be kept as points of series. A measurement has it, and an execution while it waits
	// for the right to keep them.
	ReasonPointsNotKept = "PointsNotKept"
	// ReasonImageLabelsUnreadable: the registry does not give the labels of the image that spec.template.subject.fromImage names.
	ReasonImageLabelsUnreadable = "ImageLabelsUnreadable"
	// ReasonImageLabelsInvalid: the image lacks a label, or one of them cannot be used.
	ReasonImageLabelsInvalid = "ImageLabelsInvalid"
	// ReasonRegistryNotAllowed: the administrator does not let the operator read from the image's registry.
	ReasonRegistryNotAllowed = "RegistryNotAllowed"

	// ReasonConfirming: a change is suspected, and the old and the new version are measured again by turns.
	ReasonConfirming = "Confirming"
	// ReasonRegressionFound: a figure that spec.regression.gate selects became worse, and interleaved runs confirm it.
	ReasonRegressionFound = "RegressionFound"
	// ReasonNotJudged: spec.regression.gate is set, and series cannot be judged. A series that cannot be judged has it too, and a suite while it waits
	// for the right to read its measurements.
	ReasonNotJudged = "NotJudged"
	// ReasonNotConfirmed: it is not known whether a series that spec.regression.gate selects became worse. A series has it too whose regression the
	// gate lets pass, and that may have a larger one, and one of which no run of the execution is judged.
	ReasonNotConfirmed = "NotConfirmed"
	// ReasonGateWithoutSeries: an entry of spec.regression.gate selects no series.
	ReasonGateWithoutSeries = "GateWithoutSeries"

	// ReasonRegressionConfirmed: a figure became worse. Only an event has it.
	ReasonRegressionConfirmed = "RegressionConfirmed"
	// ReasonImprovementConfirmed: a figure became better. Only an event has it.
	ReasonImprovementConfirmed = "ImprovementConfirmed"
	// ReasonConfirmationMade: interleaved runs of an old and a new version begin. Only an event has it.
	ReasonConfirmationMade = "ConfirmationMade"
	// ReasonConfirmationAbandoned: a confirmation was deleted, because spec.regression asks for none any more. Only an event has it.
	ReasonConfirmationAbandoned = "ConfirmationAbandoned"
	// ReasonExecuted: an execution was made. Only an event has it.
	ReasonExecuted = "Executed"
	// ReasonScheduleSkipped: a time of the schedule made no execution. Only an event has it.
	ReasonScheduleSkipped = "ScheduleSkipped"
	// ReasonReplaced: an active execution was deleted, because the next one replaces it. Only an event has it.
	ReasonReplaced = "Replaced"
	// ReasonMeasurementRetried: a measurement is tried again. Only an event has it.
	ReasonMeasurementRetried = "MeasurementRetried"
	// ReasonMeasurementFailed: a measurement failed for the last time. Only an event has it.
	ReasonMeasurementFailed = "MeasurementFailed"
)

// Reasons of the condition Archived. Each is part of the API.
const (
	// ReasonStored: the archive has the whole document, under the key in the message.
	ReasonStored = "Stored"
	// ReasonStoredWithoutTrials: the archive has the document with the figures, and without the trials and what they were made from: those
	// were deleted, changed by another writer or are too large, as the message says.
	ReasonStoredWithoutTrials = "StoredWithoutTrials"
	// ReasonArchiveUnavailable: the archive does not answer as it should. The results service tries again.
	ReasonArchiveUnavailable = "ArchiveUnavailable"
	// ReasonBucketNotFound: the archive's bucket does not exist.
	ReasonBucketNotFound = "BucketNotFound"
	// ReasonAccessDenied: the archive refuses the credentials of the results service, or it may not read or write there.
	ReasonAccessDenied = "AccessDenied"
	// ReasonRecordsForbidden: the results service may not read the ConfigMaps with the plan and the trials.
	ReasonRecordsForbidden = "RecordsForbidden"
	// ReasonArchiveFull: the archive has no room.
	ReasonArchiveFull = "ArchiveFull"
	// ReasonDocumentTooLarge: the document is larger than any that can be read.
	ReasonDocumentTooLarge = "DocumentTooLarge"
	// ReasonDocumentRefused: no document can be made of the status.
	ReasonDocumentRefused = "DocumentRefused"
)

// Codes of warnings. Each is part of the API.
const (
	// WarningGeneratorCeiling: the figure is the generator's limit; the device may do better.
	WarningGeneratorCeiling = "GeneratorCeiling"
	// WarningMaximumLoad: the highest load tried still met the goal.
	WarningMaximumLoad = "MaximumLoad"
	// WarningIrregularResult: the search ended before its bounds were as close as the goal asks.
	WarningIrregularResult = "IrregularResult"
	// WarningLossInversion: a load above the upper bound of a goal met the goal, so one
	// figure does not describe the device.
	WarningLossInversion = "LossInversion"
	// WarningInvalidTrials: trials were repeated because the generator doubted them.
	WarningInvalidTrials = "InvalidTrials"
	// WarningDeploymentsDiffer: a function had another image in a later deployment.
	WarningDeploymentsDiffer = "DeploymentsDiffer"
	// WarningSeveralSessions: the measurement was suspended or restarted, and continued by another measurer.
	WarningSeveralSessions = "SeveralSessions"
	// WarningInterruptedTrials: in trials that count frames went missing while other work held the generator's core, so they may not be the device's.
	WarningInterruptedTrials = "InterruptedTrials"
	// WarningSoftirqStarved: frames of trials that count were late, and the kernel may have left network work of a core that
	// sends to a thread that never runs there.
	WarningSoftirqStarved = "SoftirqStarved"
	// WarningLateFrames: frames arrived after their trial had ended, where they count as lost.
	WarningLateFrames = "LateFrames"
	// WarningQueueGrowing: a queue still grew when trials at a load ended, so their delays depend on
	// how long a trial is.
	WarningQueueGrowing = "QueueGrowing"
	// WarningFramesUnaccounted: frames arrived that are none of a trial's or too late to be known, or frames were lost that nothing counted.
	WarningFramesUnaccounted = "FramesUnaccounted"
	// WarningDelayBelowBias: a delay with the device is below that without it.
	WarningDelayBelowBias = "DelayBelowBias"
	// WarningDelayWithinBias: a delay with the device is below the median of those without it, and within their spread.
	WarningDelayWithinBias = "DelayWithinBias"
	// WarningTransmitFallback: a port does not support the better way of transmitting, or the generator was calibrated in another way.
	WarningTransmitFallback = "TransmitFallback"
	// WarningNotCalibrated: the testbed has no way without a device, or the calibration at the end failed, so the generator's bias is unknown.
	WarningNotCalibrated = "NotCalibrated"
	// WarningCalibrationDrift: without a device the generator reached another rate after the measurement than before it.
	WarningCalibrationDrift = "CalibrationDrift"
	// WarningShortTrials: trials are shorter than RFC 2544 section 24 asks.
	WarningShortTrials = "ShortTrials"
	// WarningUnsteadyPacing: the generator lost the CPU to other work during a trial that
	// counts.
	WarningUnsteadyPacing = "UnsteadyPacing"
	// WarningStretchedTrials: trials that count took clearly longer than planned.
	WarningStretchedTrials = "StretchedTrials"
	// WarningUnsteadyLatency: the delay at a load has a long tail, or scatters over the
	// repeats.
	WarningUnsteadyLatency = "UnsteadyLatency"
	// WarningTwoBands: rates fell into two bands, so the device has two states and the mean
	// describes neither.
	WarningTwoBands = "TwoBands"
	// WarningFrequencyScaling: the generator's CPUs change their frequency with their load.
	WarningFrequencyScaling = "FrequencyScaling"
	// WarningNoCPUIsolation: the generator's CPUs are not isolated from the kernel's scheduler.
	WarningNoCPUIsolation = "NoCPUIsolation"
	// WarningInterruptModeration: a port of the generator delays its interrupts, and so frames.
	WarningInterruptModeration = "InterruptModeration"
	// WarningRealTimeScheduling: threads that send are real-time threads where the kernel limits them, or other work may run.
	WarningRealTimeScheduling = "RealTimeScheduling"
	// WarningDeviceFrequencyScaling: CPUs of the chain's node change their frequency with their load.
	WarningDeviceFrequencyScaling = "DeviceFrequencyScaling"
	// WarningDeviceNoCPUIsolation: no CPU of the chain's node is isolated from the kernel's scheduler.
	WarningDeviceNoCPUIsolation = "DeviceNoCPUIsolation"
	// WarningDeviceSteal: a hypervisor withheld the CPUs of the chain's node in trials that
	// count.
	WarningDeviceSteal = "DeviceSteal"
	// WarningEvidenceMissing: what the chain used in trials that count is not known in full.
	WarningEvidenceMissing = "EvidenceMissing"
	// WarningAgentsAnswerEveryone: agents of the chain answered a request without the run's token.
	WarningAgentsAnswerEveryone = "AgentsAnswerEveryone"
	// WarningSharedCores: the chain may use every CPU that the generator may use, or the generator takes most of a core that both use.
	WarningSharedCores = "SharedCores"
	// WarningLoadNotReached: the generator did not reach an intended load.
	WarningLoadNotReached = "LoadNotReached"
	// WarningLoadNotDerived: a latency load is a share of a throughput that was not found, so it was not measured.
	WarningLoadNotDerived = "LoadNotDerived"
	// WarningRefragmented: fragments arrived with other boundaries than they were sent with.
	WarningRefragmented = "Refragmented"
	// WarningTaggedFramesMissing: tagged frames were lost or not sent, so their mean is that of fewer streams.
	WarningTaggedFramesMissing = "TaggedFramesMissing"
	// WarningVirtualMachineMismatch: KubeVirt reports another virtual machine than was
	// requested.
	WarningVirtualMachineMismatch = "VirtualMachineMismatch"
	// WarningNeighborLoadNotReached: a neighbor took or sent less than 90 % of its load.
	WarningNeighborLoadNotReached = "NeighborLoadNotReached"
	// WarningComparisonDrift: without the neighbors a figure changed by more than half of what the
	// neighbors changed.
	WarningComparisonDrift = "ComparisonDrift"
	// WarningNeighborStopped: in trials that count a neighbor had no load, or did not report
	// it.
	WarningNeighborStopped = "NeighborStopped"
	// WarningUserspaceEncryption: a gateway's kernel has no WireGuard, so a program encrypted.
	WarningUserspaceEncryption = "UserspaceEncryption"
	// WarningRulesNotWalked: a stateful firewall has rules, and only the first packet of each
	// flow is checked against them.
	WarningRulesNotWalked = "RulesNotWalked"
	// WarningBackToBackNotNeeded: the device does not limit the throughput, so there is no
	// burst to search for.
	WarningBackToBackNotNeeded = "BackToBackNotNeeded"
	// WarningEndpointCeiling: a TCP end used a whole CPU, so it may be the limit and not the device.
	WarningEndpointCeiling = "EndpointCeiling"
	// WarningToleranceBelowSpread: a baseline's maximumRegressionPercent is below the known spread of a figure.
	WarningToleranceBelowSpread = "ToleranceBelowSpread"
	// WarningBaselineGeneratorDiffers: another generator image made the baseline, and shared a core with the device.
	WarningBaselineGeneratorDiffers = "BaselineGeneratorDiffers"
	// WarningBaselinePlatformDiffers: the baseline was measured on another node, kernel or processor, or with other programs.
	WarningBaselinePlatformDiffers = "BaselinePlatformDiffers"
	// WarningSegmentationOffload: the TCP ends hand packets of up to 64 KiB to the path, larger than its MTU.
	WarningSegmentationOffload = "SegmentationOffload"
)

// Labels of objects, and the finalizer that the operator puts on them.
const (
	// LabelRun holds the UID of the run that an object belongs to.
	LabelRun = "vnfbench.io/run-uid"
	// LabelTestbed holds the UID of the testbed that an object belongs to.
	LabelTestbed = "vnfbench.io/testbed-uid"
	// LabelExperiment can be set on a run. It names what is measured, the same for all runs
	// of it. JUnit reports name their cases by it.
	LabelExperiment = "vnfbench.io/experiment"
	// LabelComponent holds the role of an object in its run: "measurer", "function",
	// "endpoint", "neighbor", "observer", "cleanup".
	LabelComponent = "vnfbench.io/component"
	// LabelDeployment holds the number of the chain's deployment that an object belongs to.
	LabelDeployment = "vnfbench.io/deployment"
	// LabelSuite holds the name of the suite that an execution or a run belongs to.
	LabelSuite = "vnfbench.io/suite"
	// LabelSuiteRun holds the name of the execution that a run belongs to.
	LabelSuiteRun = "vnfbench.io/suite-run"
	// LabelCell holds the name of the cell that a run measures.
	LabelCell = "vnfbench.io/cell"
	// LabelRepeat holds the number of the repeat that a run measures, from 1.
	LabelRepeat = "vnfbench.io/repeat"
	// LabelTrigger holds why an execution was made.
	LabelTrigger = "vnfbench.io/trigger"
	// AnnotationRunNow on a suite makes an execution each time that it gets another value.
	AnnotationRunNow = "vnfbench.io/run-now"
	// AnnotationScheduledTime on an execution is the time of the schedule that it was made for, or that was over when it was made
	// for another reason.
	AnnotationScheduledTime = "vnfbench.io/scheduled-time"
	// AnnotationSuspendedBySuite on an execution is "true" while its suite suspends it.
	AnnotationSuspendedBySuite = "vnfbench.io/suspended-by-suite"
	// AnnotationDefaultTestbed marks the cluster's default Testbed, where it is "true". Of
	// several, the one that was created last is the default.
	AnnotationDefaultTestbed = "vnfbench.io/is-default-testbed"
	// AnnotationKeep keeps a finished run from its Testbed's historyLimit, where it is "true".
	AnnotationKeep = "vnfbench.io/keep"
	// AnnotationRun holds the name of the run that an object belongs to.
	AnnotationRun = "vnfbench.io/run"
	// Finalizer keeps a run or testbed until the objects that it made are gone.
	Finalizer = "vnfbench.io/cleanup"
)
