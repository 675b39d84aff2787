// Package manifests holds the objects that every lab's cluster begins with,
// Multus's kind and rights, CoreDNS and a volume, and the one that asks for KubeVirt.
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

// Volume is that of the archive of results.
//
//go:embed volume.yaml
var Volume string

// KubeVirt is a template of the object that asks virt-operator to deploy KubeVirt.
//
//go:embed kubevirt.yaml
var KubeVirt string
