// Package manifests holds the objects that every lab's cluster begins with,
// Multus's kind and rights and CoreDNS, and the one that asks for KubeVirt.
package manifests

import _ "embed"

// Multus is the NetworkAttachmentDefinition kind and what the Multus plugin,
// which runs with the node's own identity, may do.
//
//go:embed multus.yaml
var Multus string

// CoreDNS is the cluster's name server.
//
//go:embed coredns.yaml
var CoreDNS string

// KubeVirt is a template of the object that asks virt-operator to deploy KubeVirt.
//
//go:embed kubevirt.yaml
var KubeVirt string
