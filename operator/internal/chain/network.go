package chain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain/kinds"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

// NetworkAttachmentDefinition is Multus' kind.
var NetworkAttachmentDefinition = kinds.NetworkAttachmentDefinition

// annotationNetworks lists for Multus the networks that a pod joins.
const annotationNetworks = "k8s.v1.cni.cncf.io/networks"

// AnnotationResource names for Multus the device plugin's resource of a network.
const AnnotationResource = kinds.AnnotationResource

// cniVersion is that of the configuration; the bridge and tuning plugins have it since
// 1.0.0.
const cniVersion = "1.0.0"

// attachment is one element of the networks annotation.
type attachment struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Interface string `json:"interface"`
	MAC       string `json:"mac"`
}

// configurationList is a CNI network configuration list.
type configurationList struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Plugins    []any  `json:"plugins"`
	// DisableCheck leaves out the check of a port that a container runtime may ask for.
	DisableCheck bool `json:"disableCheck,omitempty"`
}

// bridgePlugin leaves the bridge without an address and the port without IPAM: it joins the
// port to a plain switch. The plan chooses MAC addresses, which needs the capability.
// Frames of other hosts pass; the check against spoofing would stop them.
type bridgePlugin struct {
	Type         string          `json:"type"`
	Bridge       string          `json:"bridge"`
	IsGateway    bool            `json:"isGateway"`
	MACSpoofChk  bool            `json:"macspoofchk"`
	MTU          int             `json:"mtu"`
	IPAM         struct{}        `json:"ipam"`
	Capabilities map[string]bool `json:"capabilities"`
}

// sriovPlugin moves the virtual function that the device plugin has chosen into the pod.
// The NIC adds and removes the tag.
type sriovPlugin struct {
	Type         string          `json:"type"`
	VLAN         int             `json:"vlan"`
	IPAM         struct{}        `json:"ipam"`
	Capabilities map[string]bool `json:"capabilities"`
}

// hostDevicePlugin moves a whole NIC into the pod.
type hostDevicePlugin struct {
	Type     string `json:"type"`
	PCIBusID string `json:"pciBusID"`
}

// tuningPlugin sets sysctls in the pod's network namespace, where the pod's own /proc/sys
// is read only. The kubelet's list of safe sysctls does not apply. It gives a whole NIC its
// MAC address and MTU, which the plugin before it cannot do, and restores them when the pod
// ends.
type tuningPlugin struct {
	Type         string            `json:"type"`
	Sysctl       map[string]string `json:"sysctl"`
	MTU          int               `json:"mtu,omitempty"`
	Capabilities map[string]bool   `json:"capabilities,omitempty"`
	Args         *tuningArgs       `json:"args,omitempty"`
}

// tuningArgs outrank what the runtime asks for.
type tuningArgs struct {
	CNI struct {
		MAC string `json:"mac"`
	} `json:"cni"`
}

// quietSysctls keep a traffic port silent. The default covers the ports that the driver
// makes itself; the pod's own network existed before.
var quietSysctls = map[string]string{
	"net.ipv6.conf.default.disable_ipv6": "1",
	"net.ipv6.conf.IFNAME.disable_ipv6":  "1",
}

// vmSysctls keep the end of a virtual machine's port in its launcher's pod silent.
// They do not change other interfaces: KubeVirt gives the VM's own pod network an IPv6
// address if the cluster has them.
var vmSysctls = map[string]string{"net.ipv6.conf.IFNAME.disable_ipv6": "1"}

// Networks returns the NetworkAttachmentDefinitions that the plan needs in addition to the
// user's own: one for each port, because ports of one bridge differ in MTU and sysctls.
func Networks(p *plan.Plan) []*unstructured.Unstructured {
	var networks []*unstructured.Unstructured
	for _, segment := range segmentsOf(p) {
		for _, end := range []plan.End{segment.West, segment.East} {
			if !end.Existing && !end.PassedThrough() {
				networks = append(networks, network(p, segment.Bridge, end))
			}
		}
	}
	return append(append(networks, endpointNetworks(p)...), neighborNetworks(p)...)
}

func segmentsOf(p *plan.Plan) []plan.Segment {
	segments := append([]plan.Segment(nil), p.Segments...)
	if p.Calibration != nil {
		segments = append(segments, *p.Calibration)
	}
	return segments
}

func network(p *plan.Plan, bridge string, end plan.End) *unstructured.Unstructured {
	component, sysctls := ComponentMeasurer, quietSysctls
	if end.Function != "" {
		component, sysctls = ComponentFunction, functionSysctls(p, end)
	}
	return definition(p, bridge, end, component, sysctls)
}

// definition returns the network of one port on a bridge.
func definition(p *plan.Plan, bridge string, end plan.End, component string, sysctls map[string]string) *unstructured.Unstructured {
	config := configurationList{
		CNIVersion: cniVersion,
		Name:       end.Network,
		Plugins:    plugins(bridge, end, sysctls, withoutInterface(p, end)),
	}
	if quiet := podSysctls(p, end); quiet != nil {
		// The tuning plugin sets them without an interface, but its check fails without one, and so does the MAC address that
		// Multus asks of every plugin: an empty one replaces it.
		config.Plugins, config.DisableCheck = append(config.Plugins, tuningPlugin{Type: "tuning", Sysctl: quiet, Args: &tuningArgs{}}), true
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(NetworkAttachmentDefinition)
	meta := metadata(p, end.Network, component)
	object.SetNamespace(meta.Namespace)
	object.SetName(meta.Name)
	object.SetLabels(meta.Labels)
	object.SetAnnotations(meta.Annotations)
	if end.ResourceName != "" {
		object.SetAnnotations(map[string]string{v1alpha1.AnnotationRun: p.Run.Name, AnnotationResource: end.ResourceName})
	}
	object.Object["spec"] = map[string]any{"config": compactJSON(config)}
	return object
}

// plugins returns the plugins of one port. A virtual function that the kernel has released
// has no interface in the pod that could be tuned: its guest or the generator sets the MTU.
func plugins(bridge string, end plan.End, sysctls map[string]string, bare bool) []any {
	mac := map[string]bool{"mac": true}
	tuning := tuningPlugin{Type: "tuning", Sysctl: sysctls}
	switch {
	case end.PCIAddress != "":
		tuning.MTU, tuning.Capabilities = end.MTUBytes, mac
		return []any{hostDevicePlugin{Type: "host-device", PCIBusID: end.PCIAddress}, tuning}
	case end.ResourceName != "" && bare:
		return []any{sriovPlugin{Type: "sriov", VLAN: end.VLAN, Capabilities: mac}}
	case end.ResourceName != "":
		tuning.MTU = end.MTUBytes
		return []any{sriovPlugin{Type: "sriov", VLAN: end.VLAN, Capabilities: mac}, tuning}
	}
	return []any{bridgePlugin{Type: "bridge", Bridge: bridge, MTU: end.MTUBytes, Capabilities: mac}, tuning}
}

// withoutInterface reports whether the pod of a port may have no kernel interface for it: the
// port of a virtual machine, or of a generator or container that drives its ports itself.
func withoutInterface(p *plan.Plan, end plan.End) bool {
	if end.Function != "" {
		return slices.ContainsFunc(p.Functions, func(f plan.Function) bool { return f.Name == end.Function && f.OwnsPorts() })
	}
	return p.Generator.OwnsPorts
}

// functionSysctls returns the settings that the function needs for this port. In a virtual
// machine the function sets them itself.
func functionSysctls(p *plan.Plan, end plan.End) map[string]string {
	for _, function := range p.Functions {
		if function.Name != end.Function {
			continue
		}
		if function.IsVM() {
			return vmSysctls
		}
		for _, port := range function.Config.Ports {
			switch {
			case port.Name != end.Interface:
			case function.Container != nil:
				return customSysctls(function, port)
			default:
				return portSysctls(function, port)
			}
		}
	}
	return map[string]string{}
}

// portSysctls returns the settings with which the kernel forwards at a port.
func portSysctls(function plan.Function, port vnf.Port) map[string]string {
	sysctls := map[string]string{}
	for _, sysctl := range function.Config.PortSysctls(port) {
		sysctls[sysctl.Key] = sysctl.Value
	}
	return sysctls
}

// attachments returns the networks annotation of a function's pod, or of the traffic pod if
// function is empty.
func attachments(p *plan.Plan, function string) string {
	var list []attachment
	for _, end := range p.PortsOf(function) {
		list = append(list, attachment{
			Name: end.Network, Namespace: cmp.Or(end.NetworkNamespace, p.Run.Namespace), Interface: end.Interface, MAC: end.MAC,
		})
	}
	return compactJSON(list)
}
