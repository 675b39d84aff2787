# containerd, after ""
containerd \
  --config \
  /etc/lab/containerd.toml

# etcd, after ""
etcd \
  --name=node1 \
  --data-dir=/var/lib/etcd \
  --listen-client-urls=http://127.0.0.1:2379 \
  --advertise-client-urls=http://127.0.0.1:2379 \
  --listen-peer-urls=http://127.0.0.1:2380 \
  --initial-advertise-peer-urls=http://127.0.0.1:2380 \
  --initial-cluster=node1=http://127.0.0.1:2380 \
  --unsafe-no-fsync \
  --log-level=warn

# kube-apiserver, after "tcp://127.0.0.1:2379"
kube-apiserver \
  --etcd-servers=http://127.0.0.1:2379 \
  --advertise-address=172.30.0.2 \
  --secure-port=6443 \
  --allow-privileged=true \
  --authorization-mode=Node,RBAC \
  --enable-admission-plugins=NodeRestriction \
  --service-cluster-ip-range=10.96.0.0/16 \
  --client-ca-file=/etc/kubernetes/ca.crt \
  --tls-cert-file=/etc/kubernetes/apiserver.crt \
  --tls-private-key-file=/etc/kubernetes/apiserver.key \
  --kubelet-client-certificate=/etc/kubernetes/apiserver-kubelet-client.crt \
  --kubelet-client-key=/etc/kubernetes/apiserver-kubelet-client.key \
  --kubelet-preferred-address-types=InternalIP,Hostname \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-key-file=/etc/kubernetes/sa.pub \
  --service-account-signing-key-file=/etc/kubernetes/sa.key \
  --requestheader-client-ca-file=/etc/kubernetes/front-proxy-ca.crt \
  --requestheader-allowed-names=front-proxy-client \
  --requestheader-extra-headers-prefix=X-Remote-Extra- \
  --requestheader-group-headers=X-Remote-Group \
  --requestheader-username-headers=X-Remote-User \
  --proxy-client-cert-file=/etc/kubernetes/front-proxy-client.crt \
  --proxy-client-key-file=/etc/kubernetes/front-proxy-client.key

# kube-controller-manager, after "https://127.0.0.1:6443/readyz"
kube-controller-manager \
  --kubeconfig=/etc/kubernetes/controller-manager.kubeconfig \
  --authentication-kubeconfig=/etc/kubernetes/controller-manager.kubeconfig \
  --authorization-kubeconfig=/etc/kubernetes/controller-manager.kubeconfig \
  --leader-elect=false \
  --use-service-account-credentials=true \
  --kube-api-qps=200 \
  --kube-api-burst=400 \
  --service-account-private-key-file=/etc/kubernetes/sa.key \
  --root-ca-file=/etc/kubernetes/ca.crt \
  --client-ca-file=/etc/kubernetes/ca.crt \
  --cluster-signing-cert-file=/etc/kubernetes/ca.crt \
  --cluster-signing-key-file=/etc/kubernetes/ca.key \
  --requestheader-client-ca-file=/etc/kubernetes/front-proxy-ca.crt \
  --allocate-node-cidrs=true \
  --cluster-cidr=10.244.0.0/16 \
  --service-cluster-ip-range=10.96.0.0/16

# kube-scheduler, after "https://127.0.0.1:6443/readyz"
kube-scheduler \
  --kubeconfig=/etc/kubernetes/scheduler.kubeconfig \
  --authentication-kubeconfig=/etc/kubernetes/scheduler.kubeconfig \
  --authorization-kubeconfig=/etc/kubernetes/scheduler.kubeconfig \
  --leader-elect=false

# kubelet, after "unix:///run/containerd/containerd.sock"
kubelet \
  --config=/etc/lab/kubelet.yaml \
  --kubeconfig=/etc/kubernetes/kubelet.kubeconfig \
  --hostname-override=node1 \
  --node-ip=172.30.0.2

# kube-proxy, after "https://127.0.0.1:6443/readyz"
kube-proxy \
  --config=/etc/lab/kube-proxy.yaml

