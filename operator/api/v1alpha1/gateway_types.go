package v1alpha1

import "fmt"

// EncryptionProtocol is the protocol between a gateway and its peer.
// +kubebuilder:validation:Enum=WireGuard;IPsec
type EncryptionProtocol string

const (
	// ProtocolWireGuard is WireGuard in the kernel, or else wireguard-go.
	ProtocolWireGuard EncryptionProtocol = "WireGuard"
	// ProtocolIPsec is ESP of the kernel in tunnel mode with AES-256-GCM and preset keys.
	ProtocolIPsec EncryptionProtocol = "IPsec"
)

// EncryptionImplementation is what encrypts.
// +kubebuilder:validation:Enum=Auto;Kernel;Userspace
type EncryptionImplementation string

const (
	// EncryptionAuto uses the kernel where it has an implementation, else user space.
	EncryptionAuto EncryptionImplementation = "Auto"
	// EncryptionKernel uses only the kernel.
	EncryptionKernel EncryptionImplementation = "Kernel"
	// EncryptionUserspace uses a program.
	EncryptionUserspace EncryptionImplementation = "Userspace"
)

// EncryptionGateway sets a gateway. Two of them form a pair in a chain: frames between them are
// encrypted, frames outside of the pair are not.
// +kubebuilder:validation:XValidation:rule="self.protocol != 'IPsec' || self.implementation != 'Userspace'",message="IPsec is the kernel's: use implementation Auto or Kernel, or protocol WireGuard",fieldPath=".implementation"
// +kubebuilder:validation:XValidation:rule="!has(self.threads) || (self.protocol == 'WireGuard' && self.implementation == 'Userspace')",message="threads is for WireGuard in user space: leave it out, or set protocol WireGuard and implementation Userspace",fieldPath=".threads"
type EncryptionGateway struct {
	// protocol is WireGuard or IPsec (ESP in tunnel mode, AES-256-GCM). Default
	// WireGuard. Both gateways of a pair have the same.
	// +optional
	// +kubebuilder:default=WireGuard
	Protocol EncryptionProtocol `json:"protocol,omitempty"`

	// implementation is Auto (the node's kernel where it has WireGuard, else user space),
	// Kernel or Userspace. Default Auto. IPsec is always in the kernel.
	// +optional
	// +kubebuilder:default=Auto
	Implementation EncryptionImplementation `json:"implementation,omitempty"`

	// threads that may encrypt at the same time, only with implementation Userspace: a kernel
	// spreads the work over its CPUs by itself. Absent: one for each CPU.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Threads *int32 `json:"threads,omitempty"`
}

// EncryptionGatewayReport is what encrypts.
type EncryptionGatewayReport struct {
	// protocol is WireGuard or IPsec. Absent: not reported.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Protocol string `json:"protocol,omitempty"`

	// implementation is Kernel or Userspace. Absent: not reported.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Implementation string `json:"implementation,omitempty"`

	// threads that may encrypt at the same time in user space. Absent where the kernel
	// encrypts.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Threads int32 `json:"threads,omitempty"`

	// tunnelMTUBytes is the largest IP packet that goes into the tunnel.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TunnelMTUBytes int32 `json:"tunnelMTUBytes,omitempty"`
}

// Summary describes in a few words what encrypts.
func (r *EncryptionGatewayReport) Summary() string {
	switch {
	case r.Implementation != string(EncryptionUserspace):
		return r.Protocol + " in the kernel"
	case r.Threads == 1:
		return r.Protocol + " in user space, 1 thread"
	default:
		return fmt.Sprintf("%s in user space, %d threads", r.Protocol, r.Threads)
	}
}
