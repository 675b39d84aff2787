# Three Proxmox hosts: one machine each. Copy to lab.auto.tfvars and put in yours.
cluster_name     = "nfv-lab"
proxmox_endpoint = "https://pve1.example:8006/"
endpoint         = "192.0.2.11"
gateway          = "192.0.2.1"
dns_servers      = ["192.0.2.1"]

nodes = {
  cp-1 = {
    host       = "pve1"
    role       = "controlplane"
    address    = "192.0.2.11/24"
    cpus       = 2
    memory_mib = 4096
  }
  gen-1 = {
    host         = "pve2"
    role         = "worker"
    address      = "192.0.2.21/24"
    cpus         = 8
    cpu_affinity = "8-15"
    memory_mib   = 16384
    numa_node    = 1
    pci_mappings = ["west", "east"]
    labels       = { "vnfbench.io/role" = "generator" }
    measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-7" }
  }
  dut-1 = {
    host          = "pve3"
    role          = "worker"
    address       = "192.0.2.31/24"
    cpus          = 8
    cpu_affinity  = "8-15"
    memory_mib    = 32768
    hugepages_mib = 1024
    numa_node     = 1
    pci_mappings  = ["west", "east"]
    labels        = { "vnfbench.io/role" = "device" }
    measurement   = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_1gi = 16, nested_virtualization = true }
  }
}

# The NICs that are cabled to each other, one pair for each side.
pci_mappings = {
  west = {
    pve2 = { path = "0000:03:00.0", id = "8086:1572", iommu_group = 33 }
    pve3 = { path = "0000:03:00.0", id = "8086:1572", iommu_group = 33 }
  }
  east = {
    pve2 = { path = "0000:03:00.1", id = "8086:1572", iommu_group = 34 }
    pve3 = { path = "0000:03:00.1", id = "8086:1572", iommu_group = 34 }
  }
}

sriov = {
  generator_west = "openshift.io/gen_west"
  generator_east = "openshift.io/gen_east"
  device_west    = "openshift.io/dut_west"
  device_east    = "openshift.io/dut_east"
}

# What is installed into the cluster. Without it: machines and Kubernetes alone.
# The two manifests are downloaded first; terraform/versions.md has their addresses.
addons = {
  vnfbench    = { registry = "registry.example.com/lab", tag = "TAG" } # as `make push` prints it
  kubevirt    = { operator_manifest = "kubevirt-operator.yaml" }
  multus      = { manifest = "multus-daemonset-thick.yml" }
  cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" }
  sriov = {
    chart = "oci://registry.example.com/charts/sriov-network-operator-chart"
    policies = {
      gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 }
      gen-east = { resource_name = "gen_east", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f1"], virtual_functions = 1 }
      dut-west = { resource_name = "dut_west", node_selector = { "vnfbench.io/role" = "device" }, pf_names = ["ens2f0"], virtual_functions = 4 }
      dut-east = { resource_name = "dut_east", node_selector = { "vnfbench.io/role" = "device" }, pf_names = ["ens2f1"], virtual_functions = 4 }
    }
  }
}
