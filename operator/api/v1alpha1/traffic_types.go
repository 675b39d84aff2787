package v1alpha1

// TrafficKind is what the frames carry.
// +kubebuilder:validation:Enum=UDP;TCP
type TrafficKind string

// IPFamily is the version of IP.
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

const (
	// FamilyIPv4 uses addresses of 198.18.0.0/15 (RFC 2544 appendix C.2.2).
	FamilyIPv4 IPFamily = "IPv4"
	// FamilyIPv6 uses addresses of 2001:2::/48 (RFC 5180 section 8).
	FamilyIPv6 IPFamily = "IPv6"
)

// Directions says which ports send.
// +kubebuilder:validation:Enum=Both;Forward;Reverse
type Directions string

const (
	// DirectionsBoth sends from both ports at once, each with the load.
	DirectionsBoth Directions = "Both"
	// DirectionsForward sends from west to east.
	DirectionsForward Directions = "Forward"
	// DirectionsReverse sends from east to west.
	DirectionsReverse Directions = "Reverse"
)

// Traffic is what the frames look like.
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind == 'UDP'",message="kind TCP is not implemented yet; use UDP",fieldPath=".kind"
// +kubebuilder:validation:XValidation:rule="!has(self.flows) || self.flows == 1",message="more than one flow is not implemented yet; use 1",fieldPath=".flows"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamily) || self.ipFamily == 'IPv4' || self.frameBytes.all(b, b >= 82)",message="a frame with IPv6, UDP and the generator's signature has at least 82 bytes: raise frameBytes or use IPv4",fieldPath=".frameBytes"
type Traffic struct {
	// kind is UDP or TCP. Default UDP, the only one implemented yet.
	// +optional
	// +kubebuilder:default=UDP
	Kind TrafficKind `json:"kind,omitempty"`

	// ipFamily is IPv4 or IPv6. Default IPv4.
	// +optional
	// +kubebuilder:default=IPv4
	IPFamily IPFamily `json:"ipFamily,omitempty"`

	// directions is Both, Forward (west to east) or Reverse. Default Both. With
	// Both, every load is that of each direction.
	// +optional
	// +kubebuilder:default=Both
	Directions Directions `json:"directions,omitempty"`

	// frameBytes are the Ethernet frame sizes, check sequence included (RFC 2544
	// section 9), each measured on its own in this order. 64 to 9018 and at most
	// the testbed's MTU + 18. Default 64, 512, 1518.
	// +optional
	// +listType=set
	// +kubebuilder:default={64, 512, 1518}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=64
	// +kubebuilder:validation:items:Maximum=9018
	FrameBytes []int32 `json:"frameBytes,omitempty"`

	// flows is how many UDP flows each direction has. Default 1, the only value
	// that this version accepts.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Flows int32 `json:"flows,omitempty"`
}
