package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf"
)

// experiment is what the digest is formed over: everything that a figure can
// depend on, and nothing that tells one run or testbed from another. Names,
// UIDs, bridges and MAC addresses are left out for that reason; what does not
// touch a figure (deadline, tolerations, secrets) is left out too.
type experiment struct {
	Version      int                  `json:"version"`
	Instructions measure.Instructions `json:"instructions"`
	Platform     Platform             `json:"platform"`
	Image        string               `json:"image"`
	Resources    Resources            `json:"resources"`
	Hugepages    *Hugepages           `json:"hugepages,omitempty"`
	Functions    []device             `json:"functions"`
	Segments     [][2]port            `json:"segments"`
	Calibration  bool                 `json:"calibration"`
	Endpoints    []end                `json:"endpoints,omitempty"`
	Neighbors    []beside             `json:"neighbors,omitempty"`
}

type device struct {
	Function       string              `json:"function"`
	Runtime        v1alpha1.Runtime    `json:"runtime"`
	WestAttachment v1alpha1.Attachment `json:"westAttachment"`
	EastAttachment v1alpha1.Attachment `json:"eastAttachment"`
	Image          string              `json:"image"`
	Resources      Resources           `json:"resources"`
	Addresses      [][]netip.Prefix    `json:"addresses"`
	Routes         []vnf.Route         `json:"routes"`
	Firewall       *vnf.Firewall       `json:"firewall,omitempty"`
	Gateway        *vnf.Gateway        `json:"encryptionGateway,omitempty"`
	Machine        *Machine            `json:"machine,omitempty"`
}

// end is an end of the TCP connections; its addresses are in the instructions.
type end struct {
	Image     string    `json:"image"`
	Resources Resources `json:"resources"`
	Port      port      `json:"port"`
}

type port struct {
	MTUBytes int `json:"mtuBytes"`
	// Network is the user's own; empty for a bridge.
	Network string `json:"network,omitempty"`
	// ResourceName, VLAN and PCIAddress are empty for a bridge.
	ResourceName string `json:"resourceName,omitempty"`
	VLAN         int    `json:"vlan,omitempty"`
	Tag          int    `json:"tag,omitempty"`
	PCIAddress   string `json:"pciAddress,omitempty"`
}

// digest is "sha256:" and hexadecimal digits.
func digest(p *Plan) string {
	e := experiment{
		Version:      p.Version,
		Instructions: anonymous(p.Instructions),
		Platform:     p.Platform,
		Image:        p.Generator.Image,
		Resources:    p.Generator.Resources,
		Hugepages:    p.Generator.Hugepages,
		Calibration:  p.Calibration != nil,
	}
	for _, f := range p.Functions {
		d := device{
			Function: f.Config.Function, Runtime: f.Runtime,
			WestAttachment: f.WestAttachment, EastAttachment: f.EastAttachment,
			Image: f.Image, Resources: f.Resources, Routes: f.Config.Routes, Firewall: f.Config.Firewall, Gateway: f.Config.Gateway,
		}
		if f.Machine != nil {
			// What becomes of a run that differs touches no figure.
			machine := *f.Machine
			machine.OnDifference = ""
			machine.Custom = machine.Custom.withoutCourse()
			d.Machine = &machine
		}
		for _, port := range f.Config.Ports {
			d.Addresses = append(d.Addresses, port.Addresses)
		}
		e.Functions = append(e.Functions, d)
	}
	for _, segment := range p.Segments {
		e.Segments = append(e.Segments, [2]port{portAt(segment.West), portAt(segment.East)})
	}
	for _, neighbor := range p.Neighbors {
		e.Neighbors = append(e.Neighbors, beside{neighbor.Image, neighbor.Resources, neighbor.Machine, neighbor.Attachment})
	}
	for _, endpoint := range p.Endpoints {
		e.Endpoints = append(e.Endpoints, end{endpoint.Image, endpoint.Resources, portAt(endpoint.Port)})
	}
	data, err := json.Marshal(e)
	if err != nil {
		// Strings, integers and network addresses always marshal.
		panic(err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func portAt(end End) port {
	p := port{MTUBytes: end.MTUBytes, ResourceName: end.ResourceName, VLAN: end.VLAN, Tag: end.Tag, PCIAddress: end.PCIAddress}
	if end.Existing {
		p.Network = end.NetworkKey()
	}
	return p
}

// anonymous is the instructions without what names the run or the testbed.
func anonymous(instructions measure.Instructions) measure.Instructions {
	instructions.Run, instructions.Digest = "", ""
	instructions.Chain = withoutMACs(instructions.Chain)
	if instructions.Calibration != nil {
		path := withoutMACs(*instructions.Calibration)
		instructions.Calibration = &path
	}
	return instructions
}

func withoutMACs(path measure.Path) measure.Path {
	streams := make([]measure.Stream, 0, len(path.Streams))
	for _, stream := range path.Streams {
		stream.SourceMAC, stream.DestinationMAC = "", ""
		streams = append(streams, stream)
	}
	path.Streams = streams
	return path
}
