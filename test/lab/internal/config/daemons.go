package config

import "path"

// Daemon is a program that the node keeps running.
type Daemon struct {
	// Name names the daemon's log.
	Name string
	// Args is the program's name and its arguments.
	Args []string
}

// Daemons are the node's. They start together: each waits for the others, or
// ends and is started again.
func (n Node) Daemons() []Daemon {
	return []Daemon{
		{"containerd", []string{"containerd", "--config", path.Join(ConfigDir, "containerd.toml")}},
		n.etcd(), apiServer(), controllerManager(), scheduler(),
		{"kubelet", []string{
			"kubelet",
			"--config=" + path.Join(ConfigDir, "kubelet.yaml"),
			"--kubeconfig=" + pkiFile("kubelet.kubeconfig"),
			"--hostname-override=" + n.Name,
			"--node-ip=" + NodeIP,
		}},
		{"kube-proxy", []string{"kube-proxy", "--config=" + path.Join(ConfigDir, "kube-proxy.yaml")}},
	}
}

func (n Node) etcd() Daemon {
	const clients, peers = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return Daemon{"etcd", []string{
		"etcd",
		"--name=" + n.Name,
		"--data-dir=/var/lib/etcd",
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=" + n.Name + "=" + peers,
		"--unsafe-no-fsync", // the state does not outlive the machine's boot
		"--log-level=warn",
	}}
}

func apiServer() Daemon {
	return Daemon{"kube-apiserver", []string{
		"kube-apiserver",
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + NodeIP,
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

func controllerManager() Daemon {
	kubeconfig := pkiFile("controller-manager.kubeconfig")
	return Daemon{"kube-controller-manager", []string{
		"kube-controller-manager",
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--use-service-account-credentials=true",
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

func scheduler() Daemon {
	kubeconfig := pkiFile("scheduler.kubeconfig")
	return Daemon{"kube-scheduler", []string{
		"kube-scheduler",
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
	}}
}
