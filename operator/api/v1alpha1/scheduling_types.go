package v1alpha1

// TransmitScheduling is how the kernel schedules the threads that send.
// +kubebuilder:validation:Enum=Auto;Fair;RealTime
type TransmitScheduling string

const (
	// SchedulingAuto gives the traffic pod no further capability, so it is Fair.
	SchedulingAuto TransmitScheduling = "Auto"
	// SchedulingFair shares a CPU with other threads that run there.
	SchedulingFair TransmitScheduling = "Fair"
	// SchedulingRealTime lets no ordinary thread take the CPU from one that sends
	// (SCHED_FIFO). It needs the capability SYS_NICE.
	SchedulingRealTime TransmitScheduling = "RealTime"
)
