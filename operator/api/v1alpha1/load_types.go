package v1alpha1

// Load is the load of each direction in one of four units. For a mix, bits are computed from its
// exact mean size.
// +kubebuilder:validation:XValidation:rule="[has(self.framesPerSecond), has(self.layer1BitsPerSecond), has(self.layer2BitsPerSecond), has(self.lineRatePercent)].filter(g, g).size() == 1",message="give exactly one of framesPerSecond, layer1BitsPerSecond, layer2BitsPerSecond and lineRatePercent"
type Load struct {
	// framesPerSecond is the same for every size, at most line rate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// layer1BitsPerSecond counts frames with check sequence, preamble and gap.
	// +optional
	// +kubebuilder:validation:Minimum=1000
	// +kubebuilder:validation:Maximum=1000000000000
	Layer1BitsPerSecond *int64 `json:"layer1BitsPerSecond,omitempty"`

	// layer2BitsPerSecond counts frames with check sequence.
	// +optional
	// +kubebuilder:validation:Minimum=1000
	// +kubebuilder:validation:Maximum=1000000000000
	Layer2BitsPerSecond *int64 `json:"layer2BitsPerSecond,omitempty"`

	// lineRatePercent is a share of what the testbed's linkBitsPerSecond carries.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	LineRatePercent *int32 `json:"lineRatePercent,omitempty"`
}
