// Package manifests holds the objects that every lab's cluster begins with,
// Multus's kind and rights, CoreDNS and a volume, the one that asks for KubeVirt, and those of Flux and Argo CD.
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

// SRIOV is the SR-IOV network device plugin on the emulated machine, with its pools.
//
//go:embed sriov.yaml
var SRIOV string

// Flux is a template of the objects that deploy Flux's controllers, without their kinds.
//
//go:embed flux.yaml
var Flux string

// ArgoCD is a template of the objects that deploy Argo CD's controller and repository server, without their kinds.
//
//go:embed argocd.yaml
var ArgoCD string
