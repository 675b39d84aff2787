// Package plan decides everything about a run before anything is made. A run, its testbed and the
// cluster's nodes go in; a Plan comes out: nodes, bridges, MAC and IP addresses, the functions'
// configuration, images, and the measurer's instructions. Otherwise an error comes out that names
// the field that forbids it.
//
// The package is pure. A plan is made once for a run, stored as JSON and read
// back by everything that follows, so it must survive the round trip.
package plan

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf"
)

// Version is the layout of the stored plan. A plan of another layout is not read.
// It is raised when an operator of the new layout would read an older plan
// differently from how it was meant. A field that may be absent does not raise it.
const Version = 3

// ErrVersion says that a stored plan is of another layout.
var ErrVersion = errors.New("the plan is of another version of the operator")

// Keys of the plan's ConfigMap.
const (
	// KeyPlan holds the Plan.
	KeyPlan = "plan.json"
	// KeyInstructions holds measure.Instructions, the only key that the measurer sees.
	KeyInstructions = "instructions.json"
)

// Interfaces of the pods.
const (
	// InterfaceWest and InterfaceEast are the ports of the traffic pod and of every function.
	InterfaceWest = "west"
	InterfaceEast = "east"
	// InterfaceCalibrationWest and InterfaceCalibrationEast are the traffic
	// pod's ports on the bridge without a device.
	InterfaceCalibrationWest = "calwest"
	InterfaceCalibrationEast = "caleast"
)

// Input is all that a plan is made from.
type Input struct {
	Run     *v1alpha1.BenchmarkRun
	Testbed *v1alpha1.Testbed
	// Nodes are the cluster's, in any order.
	Nodes []corev1.Node
	// Requested is what other pods request on nodes, by the node's name: of each resource, and of
	// "pods" their number. Nodes that are not in it count as free.
	Requested map[string]corev1.ResourceList
	// Busy names the nodes on which other runs measure. They are chosen if no other is left.
	Busy map[string]bool
	// Networks names the NetworkAttachmentDefinitions of the run's namespace, and as
	// "namespace/name" those of other namespaces that the testbed names; nil where
	// the cluster does not know that kind.
	Networks map[string]bool
	// NetworkResources are the device plugin's resources that some of those
	// networks give out, by the network's name.
	NetworkResources map[string]string
	// KubeVirt says that the cluster knows the kind VirtualMachineInstance.
	KubeVirt bool
	// BaselineLoads are those of the run's baseline.
	BaselineLoads []measure.BaselineLoad
	Defaults      Defaults
}

// Defaults are what the operator was installed with.
type Defaults struct {
	// TrafficImage runs the measurer, FunctionImage the reference functions,
	// where the testbed or the run names no other.
	TrafficImage, FunctionImage string
	// GeneratorImages run the measurer of testbeds that name no other, and whose driver needs a
	// dedicated image. One without an entry has none.
	GeneratorImages map[v1alpha1.GeneratorDriver]string
	// GuestImage is what the reference functions boot from as virtual machines.
	GuestImage string
	// EndpointImage runs the ends of TCP connections.
	EndpointImage string
	// NeighborImage runs the neighbors; those that are virtual machines boot from
	// NeighborGuestImage.
	NeighborImage      string
	NeighborGuestImage string
	// ImagePullPolicy and ImagePullSecrets are those of every pod of a run.
	ImagePullPolicy  corev1.PullPolicy
	ImagePullSecrets []string
	// PriorityClassName is that of every pod and virtual machine of a run. Empty: the cluster's default.
	PriorityClassName string
	// APIServerPorts are the TCP ports that the measurer may reach. Empty: 443 and 6443.
	APIServerPorts []int32
	// APIServerAddresses are the address ranges with these ports. Empty: every address.
	APIServerAddresses []string
	// APIServerDiscovered lets the measurer reach the addresses and ports that the cluster names when it is launched, and not
	// these two.
	APIServerDiscovered bool
	// AgentTokens makes the agents of runs answer only who has the measurer's token.
	AgentTokens bool
	// WithoutConsoles leaves what guests and users' containers print out of the messages of runs.
	WithoutConsoles bool
	// AwaitsArchive keeps what has ended from being deleted by its time to live or by a limit of history before the archive has its document.
	AwaitsArchive bool
	// RemovesTrials deletes the trials of a run when the archive has the whole document.
	RemovesTrials bool
	// Protocol is this operator's measure.Protocol; a measurer must have it too. Empty: it is not
	// checked.
	Protocol string
	// Version is this operator's.
	Version string
}

// Plan is a run with every choice made. Fields with the tag digest:"-", here and in everything in
// the plan, are not part of its digest.
type Plan struct {
	Version int `json:"version"`
	// Protocol is what the operator that made the plan exchanges with a measurer
	// (measure.Protocol). It is not part of the digest: the images are.
	Protocol string `json:"protocol,omitempty" digest:"-"`
	// Digest names the experiment: runs with equal digests measure the same.
	Digest  string    `json:"digest" digest:"-"`
	Run     Reference `json:"run" digest:"-"`
	Testbed Reference `json:"testbed" digest:"-"`
	// OperatorVersion is that of the operator that made the plan.
	OperatorVersion string `json:"operatorVersion,omitempty" digest:"-"`
	// TestbedSpec is the testbed's when the plan was made, without the namespaces that may use it.
	// The choices that follow from it are in the other fields.
	TestbedSpec v1alpha1.TestbedSpec `json:"testbedSpec,omitzero" digest:"-"`

	// GeneratorNode is where traffic is made, DeviceNode where the functions run.
	GeneratorNode string `json:"generatorNode"`
	DeviceNode    string `json:"deviceNode"`
	// Platform describes those nodes; figures hold only for it.
	Platform Platform `json:"platform"`

	Generator Generator `json:"generator"`
	// Functions are in the chain's order, west to east.
	Functions []Function `json:"functions"`
	// Observer watches DeviceNode; nil where the testbed has none.
	Observer *Observer `json:"observer,omitempty" digest:"-"`
	// Segments join them: one more than there are functions.
	Segments []Segment `json:"segments"`
	// Calibration joins the generator to itself; nil where the testbed has no way without a device.
	Calibration *Segment `json:"calibration,omitempty"`

	// Endpoints are the ends of the TCP connections, west and east; none where TCP is not measured.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// Neighbors load DeviceNode while the chain runs, in the run's order.
	Neighbors []Neighbor `json:"neighbors,omitempty"`

	// Instructions are the measurer's.
	Instructions measure.Instructions `json:"instructions"`

	DeadlineSeconds  int64             `json:"deadlineSeconds" digest:"-"`
	ImagePullPolicy  corev1.PullPolicy `json:"imagePullPolicy,omitempty" digest:"-"`
	ImagePullSecrets []string          `json:"imagePullSecrets,omitempty" digest:"-"`
	APIServerPorts   []int32           `json:"apiServerPorts" digest:"-"`

	APIServerAddresses []string `json:"apiServerAddresses,omitempty" digest:"-"`

	PriorityClassName string `json:"priorityClassName,omitempty" digest:"-"`
	// APIServerDiscovered is true if the measurer may reach the API server where the cluster says that it is when the measurer is launched,
	// and not at these addresses and ports.
	APIServerDiscovered bool `json:"apiServerDiscovered,omitempty" digest:"-"`

	// AgentAudience is whom the token is for that the run's agents ask the measurer for; empty if they ask for none.
	AgentAudience string `json:"agentAudience,omitempty" digest:"-"`
}

// Reference names an object of the API; Namespace is empty for a Testbed.
type Reference struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Platform describes the nodes of a run.
type Platform struct {
	Generator Node `json:"generator"`
	Device    Node `json:"device"`
}

// Node is what a figure depends on about a node.
type Node struct {
	Name                    string `json:"name"`
	Architecture            string `json:"architecture,omitempty"`
	KernelVersion           string `json:"kernelVersion,omitempty"`
	OSImage                 string `json:"osImage,omitempty"`
	ContainerRuntimeVersion string `json:"containerRuntimeVersion,omitempty"`
	KubeletVersion          string `json:"kubeletVersion,omitempty" digest:"-"`
	CapacityMilliCPU        int64  `json:"capacityMilliCPU,omitempty"`
}

// Resources of a pod.
type Resources struct {
	RequestMilliCPU int64 `json:"requestMilliCPU"`
	// LimitMilliCPU is 0 where there is no limit.
	LimitMilliCPU int64 `json:"limitMilliCPU,omitempty"`
	// MemoryBytes are requested and the limit.
	MemoryBytes int64 `json:"memoryBytes"`
}

// Observer is the pod that reports what the device's node and its virtual machines did. It is not
// part of the digest: it rests while frames are sent.
type Observer struct {
	// CountsCycles is true if it reads the processors' counters of cycles, for which it begins with rights.
	CountsCycles bool                `json:"countsCycles,omitempty"`
	Image        string              `json:"image"`
	Resources    Resources           `json:"resources"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
}

// Function is one network function.
type Function struct {
	Name           string              `json:"name" digest:"-"`
	Runtime        v1alpha1.Runtime    `json:"runtime"`
	WestAttachment v1alpha1.Attachment `json:"westAttachment"`
	EastAttachment v1alpha1.Attachment `json:"eastAttachment"`
	Image          string              `json:"image"`
	Resources      Resources           `json:"resources"`
	Tolerations    []corev1.Toleration `json:"tolerations,omitempty" digest:"-"`
	// VM is the virtual machine that the function runs in; nil for a pod.
	VM *VM `json:"vm,omitempty"`
	// Container is the user's own program; nil for any other function.
	Container *Container `json:"container,omitempty"`
	// Config is what the function itself reads.
	Config vnf.Config `json:"config"`
}

// Segment joins the eastern port of one function to the western port of the next. The first and the
// last join a port of the generator.
type Segment struct {
	// Bridge on the node; empty where both ends join networks that exist already.
	Bridge string `json:"bridge,omitempty" digest:"-"`
	West   End    `json:"west"`
	East   End    `json:"east"`
}

// End is one port on a segment.
type End struct {
	// Function that has the port; empty for the traffic pod.
	Function  string `json:"function,omitempty" digest:"-"`
	Interface string `json:"interface"`
	MAC       string `json:"mac" digest:"-"`
	MTUBytes  int    `json:"mtuBytes"`
	// Network is the NetworkAttachmentDefinition that the port joins; empty for a
	// whole NIC of a virtual machine.
	Network string `json:"network"`
	// NetworkNamespace is that of an existing network; empty where it is the run's.
	NetworkNamespace string `json:"networkNamespace,omitempty"`
	// Existing says that the network is the user's and not made for the run.
	Existing bool `json:"existing,omitempty"`
	// ResourceName is the device plugin's resource that the port takes one of;
	// empty where it takes none.
	ResourceName string `json:"resourceName,omitempty"`
	// Tag is the number of the 802.1Q tag that frames have at the port, by the
	// generator or the function itself; 0 means none.
	Tag int `json:"tag,omitempty"`
	// VLAN is the tag that the port's NIC adds; 0 means none.
	VLAN int `json:"vlan,omitempty"`
	// PCIAddress of the whole NIC that the port is; empty for any other port.
	PCIAddress string `json:"pciAddress,omitempty"`
}

// Names returns the names of the run's objects.
func (p *Plan) Names() Names { return namesOf(p.Run.Name, p.Run.UID) }

// PortsOf returns a function's ports, west first; those of the traffic pod, the calibration's
// last, where function is empty.
func (p *Plan) PortsOf(function string) []End {
	var east, west []End
	for _, segment := range p.Segments {
		// A function's western port is the eastern end of a segment, but the
		// generator's western port is the western end of the first.
		for _, end := range []End{segment.West, segment.East} {
			if end.Function != function {
				continue
			}
			if end.Interface == InterfaceWest {
				west = append(west, end)
			} else {
				east = append(east, end)
			}
		}
	}
	ports := append(west, east...)
	if function == "" && p.Calibration != nil {
		ports = append(ports, p.Calibration.West, p.Calibration.East)
	}
	return ports
}

// JSON returns the plan as it is stored, indented for people who look at it.
func (p *Plan) JSON() []byte {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		// Strings, integers and network addresses always marshal.
		panic(err)
	}
	return append(data, '\n')
}

// Parse reads a stored plan.
func Parse(data []byte) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	if p.Version != Version {
		return nil, fmt.Errorf("%w: it has layout %d, this one reads %d", ErrVersion, p.Version, Version)
	}
	return p, nil
}
