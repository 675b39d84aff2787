package chain

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

// NetworkAttachmentDefinition is Multus' kind, of which this package needs too
// little for a client library.
var NetworkAttachmentDefinition = schema.GroupVersionKind{
	Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition",
}

// annotationNetworks tells Multus which networks a pod joins.
const annotationNetworks = "k8s.v1.cni.cncf.io/networks"

// cniVersion of the configuration; the bridge and tuning plugins have it since 1.0.0.
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
}

// bridgePlugin leaves the bridge without an address and the port without IPAM:
// it joins the port to a plain switch. MAC addresses are chosen by the plan,
// which needs the capability, and frames of other machines pass, which the
// check against spoofing would stop.
type bridgePlugin struct {
	Type         string          `json:"type"`
	Bridge       string          `json:"bridge"`
	IsGateway    bool            `json:"isGateway"`
	MACSpoofChk  bool            `json:"macspoofchk"`
	MTU          int             `json:"mtu"`
	IPAM         struct{}        `json:"ipam"`
	Capabilities map[string]bool `json:"capabilities"`
}

// tuningPlugin sets sysctls in the pod's network namespace, where the pod's own
// /proc/sys is read only. The kubelet's list of safe sysctls does not apply.
type tuningPlugin struct {
	Type   string            `json:"type"`
	Sysctl map[string]string `json:"sysctl"`
}

// quietSysctls keep a traffic port silent. The default covers the ports that
// the driver makes itself; the pod's own network was there before.
var quietSysctls = map[string]string{
	"net.ipv6.conf.default.disable_ipv6": "1",
	"net.ipv6.conf.IFNAME.disable_ipv6":  "1",
}

// Networks are the NetworkAttachmentDefinitions that the plan needs beside the
// user's own: one for each port, because ports of one bridge differ in MTU and
// sysctls.
func Networks(p *plan.Plan) []*unstructured.Unstructured {
	var networks []*unstructured.Unstructured
	for _, segment := range segmentsOf(p) {
		for _, end := range []plan.End{segment.West, segment.East} {
			if !end.Existing {
				networks = append(networks, network(p, segment.Bridge, end))
			}
		}
	}
	return append(networks, endpointNetworks(p)...)
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
		component, sysctls = ComponentFunction, functionSysctls(p, end.Function)
	}
	return definition(p, bridge, end, component, sysctls)
}

// definition is the network of one port on a bridge.
func definition(p *plan.Plan, bridge string, end plan.End, component string, sysctls map[string]string) *unstructured.Unstructured {
	config := configurationList{
		CNIVersion: cniVersion,
		Name:       end.Network,
		Plugins: []any{
			bridgePlugin{Type: "bridge", Bridge: bridge, MTU: end.MTUBytes, Capabilities: map[string]bool{"mac": true}},
			tuningPlugin{Type: "tuning", Sysctl: sysctls},
		},
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(NetworkAttachmentDefinition)
	meta := metadata(p, end.Network, component)
	object.SetNamespace(meta.Namespace)
	object.SetName(meta.Name)
	object.SetLabels(meta.Labels)
	object.SetAnnotations(meta.Annotations)
	object.Object["spec"] = map[string]any{"config": inline(config)}
	return object
}

// functionSysctls are what the function itself says that its ports need.
func functionSysctls(p *plan.Plan, name string) map[string]string {
	sysctls := map[string]string{}
	for _, function := range p.Functions {
		if function.Name != name {
			continue
		}
		for _, sysctl := range vnf.Sysctls(function.Config.Families()) {
			sysctls[sysctl.Key] = sysctl.Value
		}
	}
	return sysctls
}

// attachments are the networks annotation of a function's pod, or of the
// traffic pod where function is empty.
func attachments(p *plan.Plan, function string) string {
	var list []attachment
	for _, end := range p.PortsOf(function) {
		list = append(list, attachment{
			Name: end.Network, Namespace: p.Run.Namespace, Interface: end.Interface, MAC: end.MAC,
		})
	}
	return inline(list)
}
