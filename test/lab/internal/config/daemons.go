package config

import "path"

// Daemon is a program that the node keeps running.
type Daemon struct {
	// Name names the daemon's log.
	Name string
	// Args is the program's name and its arguments.
	Args []string
	// Needs is a URL that must answer before the daemon starts: "unix" and "tcp" URLs accept a
	// connection, "https" URLs report that all is well. A daemon that starts too early ends, or
	// backs off for seconds.
	Needs string
}

const (
	etcdClients = "127.0.0.1:2379"
	etcdPeers   = "127.0.0.1:2380"
	readyPath   = "/readyz"
)

// Daemons returns the node's daemons. They start together, each once what it needs answers.
func (n Node) Daemons() []Daemon {
	daemons := []Daemon{{Name: "containerd", Args: []string{"containerd", "--config", path.Join(ConfigDir, "containerd.toml")}}}
	if n.ControlPlane() {
		daemons = append(daemons, n.etcd(), n.apiServer(), n.controllerManager(), n.scheduler())
	}
	return append(daemons, n.kubelet(), n.kubeProxy())
}

func (n Node) kubelet() Daemon {
	return Daemon{Name: "kubelet", Needs: ContainerdURL, Args: []string{
		"kubelet",
		"--config=" + path.Join(ConfigDir, "kubelet.yaml"),
		"--kubeconfig=" + pkiFile("kubelet.kubeconfig"),
		"--hostname-override=" + n.Name(),
		"--node-ip=" + n.IP(),
	}}
}

func (n Node) kubeProxy() Daemon {
	return Daemon{Name: "kube-proxy", Needs: n.APIServerURL() + readyPath, Args: []string{
		"kube-proxy", "--config=" + path.Join(ConfigDir, "kube-proxy.yaml"),
	}}
}

func (n Node) etcd() Daemon {
	const clients, peers = "http://" + etcdClients, "http://" + etcdPeers
	return Daemon{Name: "etcd", Args: []string{
		"etcd",
		"--name=" + n.Name(),
		"--data-dir=/var/lib/etcd",
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=" + n.Name() + "=" + peers,
		"--unsafe-no-fsync", // the state does not outlive the machine's boot
		"--log-level=warn",
	}}
}

func (n Node) apiServer() Daemon {
	return Daemon{Name: "kube-apiserver", Needs: "tcp://" + etcdClients, Args: []string{
		"kube-apiserver",
		"--etcd-servers=http://" + etcdClients,
		"--advertise-address=" + n.IP(),
		"--secure-port=" + APIPort,
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-cluster-ip-range=" + ServiceCIDR,
		"--client-ca-file=" + pkiFile("ca.crt"),
		"--tls-cert-file=" + pkiFile("apiserver.crt"),
		"--tls-private-key-file=" + pkiFile("apiserver.key"),
		"--kubelet-client-certificate=" + pkiFile("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + pkiFile("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pkiFile("sa.pub"),
		"--service-account-signing-key-file=" + pkiFile("sa.key"),
		"--requestheader-client-ca-file=" + pkiFile("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + pkiFile("front-proxy-client.crt"),
		"--proxy-client-key-file=" + pkiFile("front-proxy-client.key"),
	}}
}

func (n Node) controllerManager() Daemon {
	kubeconfig := pkiFile("controller-manager.kubeconfig")
	return Daemon{Name: "kube-controller-manager", Needs: n.APIServerURL() + readyPath, Args: []string{
		"kube-controller-manager",
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		// The default of 20 requests per second spreads the start of the controllers, each with a
		// separate account, over 4 seconds.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--service-account-private-key-file=" + pkiFile("sa.key"),
		"--root-ca-file=" + pkiFile("ca.crt"),
		"--client-ca-file=" + pkiFile("ca.crt"),
		"--cluster-signing-cert-file=" + pkiFile("ca.crt"),
		"--cluster-signing-key-file=" + pkiFile("ca.key"),
		"--requestheader-client-ca-file=" + pkiFile("front-proxy-ca.crt"),
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + PodCIDR,
		"--service-cluster-ip-range=" + ServiceCIDR,
	}}
}

func (n Node) scheduler() Daemon {
	kubeconfig := pkiFile("scheduler.kubeconfig")
	return Daemon{Name: "kube-scheduler", Needs: n.APIServerURL() + readyPath, Args: []string{
		"kube-scheduler",
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
	}}
}
