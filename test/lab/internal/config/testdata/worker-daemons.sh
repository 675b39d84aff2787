# containerd, after ""
containerd \
  --config \
  /etc/lab/containerd.toml

# kubelet, after "unix:///run/containerd/containerd.sock"
kubelet \
  --config=/etc/lab/kubelet.yaml \
  --kubeconfig=/etc/kubernetes/kubelet.kubeconfig \
  --hostname-override=node2 \
  --node-ip=172.30.0.3

# kube-proxy, after "https://172.30.0.2:6443/readyz"
kube-proxy \
  --config=/etc/lab/kube-proxy.yaml

