package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Deployment is one launch of the chain.
type Deployment struct {
	// number counts from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int32 `json:"number,omitempty"`

	// readyTime is when the chain was ready.
	// +required
	ReadyTime metav1.Time `json:"readyTime,omitzero"`

	// trials made with it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Trials int32 `json:"trials,omitempty"`

	// functions of the chain.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Functions []DeployedFunction `json:"functions,omitempty"`
}

// DeployedFunction is what a function ran in.
type DeployedFunction struct {
	// name of the function.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// runtime is Pod or VirtualMachine.
	// +required
	Runtime Runtime `json:"runtime,omitempty"`

	// uid of the pod or virtual machine.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// node it ran on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// imageID as in status.chain.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ImageID string `json:"imageID,omitempty"`
}
