package v1alpha1

// Connections measures how many TCP connections a chain takes, per second and at the same time,
// each with a transaction: a request and its response (RFC 9411 sections 7.2, 7.3 and 7.5).
// Clients on the west side open them to servers on the east side. It needs a testbed with driver
// TRex, and is experimental.
type Connections struct {
	// loads are measured one after the other, in this order.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Loads []ConnectionsLoad `json:"loads,omitempty"`
}

// ConnectionsLoad is a number of connections per second, or of concurrent ones.
// +kubebuilder:validation:XValidation:rule="!has(self.concurrentConnections) || (self.concurrentConnections - 1) / 600 < self.connectionsPerSecond",message="opening so many takes longer than 600 s: raise connectionsPerSecond, or lower concurrentConnections",fieldPath=".concurrentConnections"
type ConnectionsLoad struct {
	// name of the load.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// connectionsPerSecond are opened by all clients together, whatever happens to earlier
	// ones.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	ConnectionsPerSecond int64 `json:"connectionsPerSecond,omitempty"`

	// requestBytes is the payload that a client sends, HTTP header included. Default 128.
	// +optional
	// +kubebuilder:default=128
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=8192
	RequestBytes int32 `json:"requestBytes,omitempty"`

	// responseBytes is the payload of the server's response, HTTP header included. Default
	// 1024.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=1048576
	ResponseBytes int32 `json:"responseBytes,omitempty"`

	// concurrentConnections is how many are opened at connectionsPerSecond and then held.
	// Each is silent until durationSeconds after the last was opened, and then makes a second
	// transaction. Absent: new connections all the time, and each ends after its transaction.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	ConcurrentConnections *int64 `json:"concurrentConnections,omitempty"`

	// durationSeconds is the time that counts. It starts after the first second, or after all
	// connections to hold are open. Default 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	DurationSeconds int32 `json:"durationSeconds,omitempty"`
}

// ConnectionsResult is what measurements.connections found.
type ConnectionsResult struct {
	// loads has one entry for each load that has been measured.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Loads []ConnectionsLoadResult `json:"loads,omitempty"`

	// program that acted as clients and servers.
	// +optional
	Program *Program `json:"program,omitempty"`
}

// ConnectionsLoadResult is the result of one load. Over repeats, rates are means rounded down,
// numbers of connections are sums, and concurrentConnections and heldConnections are the smallest
// of all repeats.
type ConnectionsLoadResult struct {
	// name of the load.
	// +required
	Name string `json:"name,omitempty"`

	// intendedConnectionsPerSecond is the load's.
	// +required
	IntendedConnectionsPerSecond int64 `json:"intendedConnectionsPerSecond"`

	// attemptedConnectionsPerSecond is how many clients started in the time that counts.
	// Absent with held connections.
	// +optional
	AttemptedConnectionsPerSecond *int64 `json:"attemptedConnectionsPerSecond,omitempty"`

	// establishedConnectionsPerSecond is how many were established in the time that counts.
	// Absent with held connections.
	// +optional
	EstablishedConnectionsPerSecond *int64 `json:"establishedConnectionsPerSecond,omitempty"`

	// intendedConcurrentConnections is the load's. Absent: none are held.
	// +optional
	IntendedConcurrentConnections *int64 `json:"intendedConcurrentConnections,omitempty"`

	// concurrentConnections is the most that were established at the same time, with those
	// that were being closed.
	// +required
	ConcurrentConnections int64 `json:"concurrentConnections"`

	// heldConnections is how many held connections were still established at the end of the
	// time that counts. Absent: none are held.
	// +optional
	HeldConnections *int64 `json:"heldConnections,omitempty"`

	// attempted connections of the whole trials, also outside of the time that counts.
	// +required
	Attempted int64 `json:"attempted"`
	// established connections of those attempted.
	// +required
	Established int64 `json:"established"`
	// completed are those that made all their transactions and then ended.
	// +required
	Completed int64 `json:"completed"`
	// reset are those that were refused, or ended by a reset.
	// +required
	Reset int64 `json:"reset"`
	// timedOut are those that clients gave up because no answer came.
	// +required
	TimedOut int64 `json:"timedOut"`
	// unfinished are those that were neither completed nor given up when the trial ended.
	// +required
	Unfinished int64 `json:"unfinished"`
	// failedPartsPerMillion is the share of those attempted that were reset, timed
	// out or unfinished, rounded up.
	// +required
	FailedPartsPerMillion int64 `json:"failedPartsPerMillion"`

	// forwardBitsPerSecond is the payload that arrived at the servers in the time that counts.
	// +required
	ForwardBitsPerSecond int64 `json:"forwardBitsPerSecond"`
	// reverseBitsPerSecond is the payload that arrived at the clients in that time.
	// +required
	ReverseBitsPerSecond int64 `json:"reverseBitsPerSecond"`

	// retransmits are segments that clients and servers sent again, SYNs included.
	// +required
	Retransmits int64 `json:"retransmits"`

	// generatorCPUPartsPerMillion is how busy the generator's threads were at the end of the
	// time that counts, in the busiest repeat.
	// +required
	GeneratorCPUPartsPerMillion int64 `json:"generatorCPUPartsPerMillion"`

	// statistics of the established connections per second over the repeats. Absent with
	// fewer than two repeats, and with held connections.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Statistics []Statistics `json:"statistics,omitempty"`

	// doubts about the figures, such as LoadNotReached.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`
}
