package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Target is something to build.
type Target struct {
	// Kind names the target and its binary.
	Kind string
	// Dir is its module's directory, from the lab's source directory.
	Dir string
	// Package is the argument of "go build".
	Package string
	// Also are packages that are built with it.
	Also []string
	// SourceDir, below Dir, contains everything that the binary is made from, if that is less than
	// the module.
	SourceDir string
	// Links are names that also lead to the binary.
	Links []string
	// Cgo links with this machine's C library, and says that there is a C
	// compiler.
	Cgo bool
	// Tags are build constraints that hold, separated by commas.
	Tags string
	// Replace maps a module to the directory that is built in its place.
	Replace map[string]string
	// stamp makes linker flags of the versions in the module's go.mod.
	stamp func(version func(module string) string) string
}

// Kube is Kubernetes, kubectl and etcd in one binary.
var Kube = Target{
	Kind:    "kube",
	Dir:     "kube",
	Package: ".",
	Links: []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy",
		"kube-scheduler", "kubectl", "kubelet",
	},
	stamp: stampKubernetes,
}

// CNI is the network plugins, with Multus. It is of the module of Kubernetes, so that the packages of both are compiled once.
var CNI = Target{Kind: "cni", Dir: Kube.Dir, Package: "tool", stamp: stampCNI}

// CoreDNS is the cluster's name server, of the same module.
var CoreDNS = Target{Kind: "coredns", Dir: Kube.Dir, Package: "./coredns"}

// Pause holds a pod's namespaces.
var Pause = Target{Kind: "pause", Dir: ".", Package: "./pause", SourceDir: "pause"}

// KubeVirt is virtual machines for Kubernetes, and a program that writes the objects that deploy
// it. The tags keep C to the necessary parts: Go looks up names and users by itself, and libvirt is
// opened when it is needed, so its headers are not required. The tags, and Cgo, are the same for
// every program, or most packages would be compiled twice.
var KubeVirt = Target{
	Kind: "kubevirt", Dir: "kubevirt",
	Package: "tool", Also: []string{"./manifest"},
	Cgo: true, Tags: "netgo,osusergo,libvirt_dlopen",
	stamp: stampKubeVirt,
}

// Flux is Flux's controllers for sources, Kustomizations and Helm releases. They are of one module, so that the
// packages that they share are compiled once.
var Flux = Target{Kind: "flux", Dir: "flux/controllers", Package: "tool"}

// FluxNotification is Flux's controller for notifications, of an older release with other dependencies.
var FluxNotification = Target{Kind: "flux-notification", Dir: "flux/notification", Package: "tool"}

// ArgoCD is Argo CD's application controller and repository server in one program, of the module with which its health scripts are
// tested.
var ArgoCD = Target{Kind: "argocd", Dir: "../argocd", Package: "./argocd", stamp: stampArgoCD}

// SRIOVDevicePlugin is the SR-IOV network device plugin.
var SRIOVDevicePlugin = Target{Kind: "sriovdp", Dir: "sriov", Package: "tool"}

// SRIOVCNI is the network plugin "sriov".
var SRIOVCNI = Target{Kind: "sriov", Dir: SRIOVDevicePlugin.Dir, Package: "./cni/sriov"}

// KubeVirtModule names the module whose version is KubeVirt's.
const KubeVirtModule = "kubevirt.io/kubevirt"

// KubernetesModule names the module whose version is the cluster's.
const KubernetesModule = "k8s.io/kubernetes"

func stampKubernetes(version func(string) string) string {
	full := version(KubernetesModule)
	numbers := strings.Split(strings.TrimPrefix(full, "v"), ".")
	values := []string{
		"gitVersion=" + full,
		"gitMajor=" + numbers[0],
		"gitMinor=" + numbers[1],
		"gitTreeState=clean",
		"buildDate=2026-01-01T00:00:00Z", // fixed: equal sources, equal binary
	}
	flags := ""
	for _, v := range values {
		flags += " -X k8s.io/component-base/version." + v
	}
	return flags
}

func stampCNI(version func(string) string) string {
	const module = "github.com/containernetworking/plugins"
	return " -X " + module + "/pkg/utils/buildversion.BuildVersion=" + version(module)
}

func stampArgoCD(version func(string) string) string {
	const module = "github.com/argoproj/argo-cd/v3"
	return " -X " + module + "/common.version=" + strings.TrimPrefix(version(module), "v")
}

func stampKubeVirt(version func(string) string) string {
	values := []string{
		"gitVersion=" + version(KubeVirtModule),
		"gitTreeState=clean",
		"buildDate=2026-01-01T00:00:00Z",
	}
	flags := ""
	for _, v := range values {
		flags += " -X kubevirt.io/client-go/version." + v
	}
	return flags
}

// flags returns the arguments of "go build".
func (t Target) flags(sourceDir string) ([]string, error) {
	ldflags := "-s -w"
	if t.stamp != nil {
		versions, err := Versions(filepath.Join(sourceDir, t.Dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		ldflags += t.stamp(func(module string) string { return versions[module] })
	}
	flags := []string{"-trimpath", "-buildvcs=false", "-ldflags", ldflags}
	if t.Tags != "" {
		flags = append(flags, "-tags", t.Tags)
	}
	return flags, nil
}

// Versions reads the versions that a go.mod file requires.
func Versions(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading versions: %w", err)
	}
	file, err := modfile.ParseLax(path, data, nil)
	if err != nil {
		return nil, fmt.Errorf("reading versions: %w", err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions, nil
}
