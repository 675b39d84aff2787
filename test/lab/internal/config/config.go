// Package config renders the configuration of a lab's nodes. The number of a node and a few
// choices go in; addresses, files and the daemons' command lines come out.
package config

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"path"
	"strings"
	"text/template"
)

// Node has the differences between nodes. All else follows from its number.
type Node struct {
	// Number is 1 for the node that runs the control plane too: etcd, the API server, the controller
	// manager and the scheduler. Workers have the numbers from 2 to MaxNodes.
	Number int `json:"number"`
	// CPUManager is the kubelet's CPU manager policy: "none" or "static".
	CPUManager string `json:"cpuManager"`
}

// MachineNumber is the number of the node that is an emulated machine.
const MachineNumber = 3

// MaxNodes is the number of nodes that a lab can have. Every node has routes to the pods of all others
// from its start, so that a node which comes later changes nothing in those that run.
const MaxNodes = MachineNumber

// ControlPlane reports whether the node runs the control plane.
func (n Node) ControlPlane() bool { return n.Number == 1 }

// Machine reports whether the node is an emulated machine, with a separate kernel.
func (n Node) Machine() bool { return n.Number == MachineNumber }

// Name returns the node's name in the cluster.
func (n Node) Name() string {
	if n.Machine() {
		return "hw1"
	}
	return fmt.Sprintf("node%d", n.Number)
}

// IP returns the node's address in the network of the nodes.
func (n Node) IP() string { return fmt.Sprintf("172.30.0.%d", 1+n.Number) }

// Prefix returns the node's address with the length of its network's prefix.
func (n Node) Prefix() string { return n.IP() + "/16" }

// PodCIDR returns the addresses of the node's pods.
func (n Node) PodCIDR() string { return fmt.Sprintf("10.244.%d.0/24", n.Number-1) }

// APIServerURL returns the API server's address for programs in the node.
func (n Node) APIServerURL() string {
	if n.ControlPlane() {
		return "https://127.0.0.1:" + APIPort
	}
	return "https://" + Node{Number: 1}.IP() + ":" + APIPort
}

// Others returns all nodes that the lab can have next to this one.
func (n Node) Others() []Node {
	var others []Node
	for number := 1; number <= MaxNodes; number++ {
		if number != n.Number {
			others = append(others, Node{Number: number, CPUManager: n.CPUManager})
		}
	}
	return others
}

// Route is a way that the node sends packets by, through its interface in the network of the nodes.
type Route struct {
	// Destination is a prefix, "" for all that no other route leads to.
	Destination string
	// Via is the address of the next node.
	Via string
}

// Routes returns the node's routes to the gateway, which does not exist, and to the pods of all nodes that the lab can have.
func (n Node) Routes() []Route {
	routes := []Route{{Via: Gateway}}
	for _, other := range n.Others() {
		routes = append(routes, Route{Destination: other.PodCIDR(), Via: other.IP()})
	}
	return routes
}

// DaemonCPUs returns the CPUs that the node's daemons may use, "" for all. With the static policy it is the first one: the
// kubelet gives no pod this one alone, so that a pod with a dedicated CPU shares it with none of them.
func (n Node) DaemonCPUs() string {
	if n.CPUManager == "static" && !n.Machine() { // the machine has separate CPUs
		return "0"
	}
	return ""
}

// Addresses of the cluster. Every lab has a separate network namespace, so they never conflict.
const (
	Gateway       = "172.30.0.1"
	PodCIDR       = "10.244.0.0/16"
	ServiceCIDR   = "10.96.0.0/16"
	DNSIP         = "10.96.0.10"
	APIPort       = "6443"
	APIServerIP   = "10.96.0.1"
	PauseImage    = "localhost/pause:lab"
	CoreDNSImage  = "localhost/coredns:lab"
	BusyboxImage  = "localhost/busybox:1"
	PodBridge     = "cni0"
	NodeBridge    = "nodes"
	ContainerdURL = "unix:///run/containerd/containerd.sock"
)

// Places inside the node.
const (
	PKIDir        = "/etc/kubernetes"
	ConfigDir     = "/etc/lab"
	CNIConfigDir  = "/etc/cni/net.d"
	CNIBinaryDir  = "/opt/cni/bin"
	KubeBinaryDir = "/opt/lab/bin"
	LogDir        = "/var/log/lab"
	// VolumeDir is the volume of the archive of results.
	VolumeDir = "/var/lib/vnfbench"
)

//go:embed templates
var templates embed.FS

// files maps a template to the place of its file in the node.
var files = map[string]string{
	"containerd.toml":    ConfigDir + "/containerd.toml",
	"kubelet.yaml":       ConfigDir + "/kubelet.yaml",
	"kube-proxy.yaml":    ConfigDir + "/kube-proxy.yaml",
	"00-multus.conf":     CNIConfigDir + "/00-multus.conf",
	"10-bridge.conflist": ClusterNetworkDir + "/10-bridge.conflist",
}

// ClusterNetworkDir holds the pods' first network. Multus gets the directory: with the file, it
// loses fields of a list at DEL, and sandboxes are never removed (multus-cni 4.2).
const ClusterNetworkDir = CNIConfigDir + "/cluster-network"

// machineFiles are those that only the machine has.
var machineFiles = map[string]string{"shell.yaml": StaticPodDir + "/shell.yaml"}

// StaticPodDir holds the pods that the machine's kubelet starts by itself, and ShellNamespace and ShellPod name the one
// by which programs are run in the machine: the kubelet appends the node's name.
const (
	StaticPodDir   = ConfigDir + "/pods"
	ShellNamespace = "kube-system"
	ShellPod       = "shell"
)

// MachineSystemCPUs run the machine's kernel, daemons, and pods without dedicated CPUs. The kubelet gives away the
// others, from which the kernel keeps away.
const MachineSystemCPUs = "0-1"

// templatesOf returns the templates of the node's files, and the places of the files.
func (n Node) templatesOf() map[string]string {
	all := maps.Clone(files)
	if n.Machine() {
		maps.Copy(all, machineFiles)
	}
	return all
}

// Files renders the node's configuration files, by their place in the node.
func (n Node) Files() (map[string][]byte, error) {
	parsed, err := template.New("").Option("missingkey=error").ParseFS(templates, "templates/*")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	rendered := map[string][]byte{}
	for name, place := range n.templatesOf() {
		var out bytes.Buffer
		if err := parsed.ExecuteTemplate(&out, name, n.values()); err != nil {
			return nil, fmt.Errorf("rendering %s: %w", name, err)
		}
		rendered[place] = out.Bytes()
	}
	rendered["/etc/hosts"] = []byte(n.hosts())
	rendered["/etc/hostname"] = []byte(n.Name() + "\n")
	// The node reaches no name server; pods ask CoreDNS.
	rendered["/etc/resolv.conf"] = nil
	return rendered, nil
}

// hosts renders the names that the node itself resolves: those of the nodes with a smaller number and
// its own. Those that come later change nothing in it.
func (n Node) hosts() string {
	lines := "127.0.0.1 localhost\n::1 localhost\n"
	for number := 1; number <= n.Number; number++ {
		known := Node{Number: number}
		lines += known.IP() + " " + known.Name() + "\n"
	}
	return lines
}

func (n Node) values() map[string]string {
	staticPods, systemCPUs := "", ""
	if n.Machine() {
		staticPods, systemCPUs = StaticPodDir, MachineSystemCPUs
	}
	return map[string]string{
		"StaticPodDir":   staticPods,
		"SystemCPUs":     systemCPUs,
		"ShellPod":       ShellPod,
		"ShellNamespace": ShellNamespace,
		"BusyboxImage":   BusyboxImage,
		"Name":           n.Name(),
		"CPUManager":     n.CPUManager,
		"PKIDir":         PKIDir,
		"DNSIP":          DNSIP,
		"PodCIDR":        PodCIDR,
		"NodePodCIDR":    n.PodCIDR(),
		"PauseImage":     PauseImage,
		"PodBridge":      PodBridge,
		"ContainerdURL":  ContainerdURL,
		"CNIConfigDir":   CNIConfigDir,
		"CNIBinaryDir":   CNIBinaryDir,
		"ClusterNetwork": ClusterNetworkDir,
	}
}

// Path returns the search path of everything that runs in the node.
func Path() string {
	return strings.Join([]string{
		KubeBinaryDir, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	}, ":")
}

// pkiFile returns the path of a certificate, key or kubeconfig in the node.
func pkiFile(name string) string { return path.Join(PKIDir, name) }
