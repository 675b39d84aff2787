# Three bare machines. Copy to lab.auto.tfvars and put in yours.
cluster_name      = "nfv-lab"
matchbox_endpoint = "matchbox.example:8081"
matchbox_credentials = {
  client_cert = "~/.matchbox/client.crt"
  client_key  = "~/.matchbox/client.key"
  ca          = "~/.matchbox/ca.crt"
}
endpoint = "192.0.2.11"

nodes = {
  cp-1 = {
    mac          = "0c:c4:7a:00:00:11"
    role         = "controlplane"
    address      = "192.0.2.11/24"
    install_disk = "/dev/sda"
  }
  gen-1 = {
    mac          = "0c:c4:7a:00:00:21"
    role         = "worker"
    address      = "192.0.2.21/24"
    install_disk = "/dev/sda"
    labels       = { "vnfbench.io/role" = "generator" }
    measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-15" }
  }
  dut-1 = {
    mac          = "0c:c4:7a:00:00:31"
    role         = "worker"
    address      = "192.0.2.31/24"
    install_disk = "/dev/nvme0n1"
    labels       = { "vnfbench.io/role" = "device" }
    measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-15", hugepages_1gi = 32 }
  }
}

testbeds = {
  lab = { # the name for which the samples ask
    is_default = true
    sriov = {
      generator_west = "openshift.io/gen_west"
      generator_east = "openshift.io/gen_east"
      device_west    = "openshift.io/dut_west"
      device_east    = "openshift.io/dut_east"
    }
  }
}

# What is installed into the cluster. Without it: machines and Kubernetes alone.
# The two manifests are downloaded first; terraform/versions.md has their addresses. The images
# are made and pushed first: docs/tutorials/first-lab-metal.md, step 2.
addons = {
  vnfbench    = { registry = "registry.example.com/lab", tag = "TAG" } # as `make push` prints it
  kubevirt    = { operator_manifest = "kubevirt-operator.yaml" }
  multus      = { manifest = "multus-daemonset-thick.yml" }
  cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" }
  sriov = {
    # Where it is published: github.com/k8snetworkplumbingwg/sriov-network-operator.
    chart = "oci://registry.example.com/charts/sriov-network-operator-chart"
    policies = {
      gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 }
      gen-east = { resource_name = "gen_east", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f1"], virtual_functions = 1 }
      dut-west = { resource_name = "dut_west", node_selector = { "vnfbench.io/role" = "device" }, pf_names = ["ens2f0"], virtual_functions = 4 }
      dut-east = { resource_name = "dut_east", node_selector = { "vnfbench.io/role" = "device" }, pf_names = ["ens2f1"], virtual_functions = 4 }
    }
  }
}
