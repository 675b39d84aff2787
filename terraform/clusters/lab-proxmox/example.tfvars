# Three Proxmox hosts: one machine each. Copy to lab.auto.tfvars and put in yours.
# cpu_affinity and hugepages_mib are root@pam's alone: log in with its password
# (PROXMOX_VE_USERNAME, PROXMOX_VE_PASSWORD), or leave them out and use a token.
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
    measurement   = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_1gi = 16 }
  }
}

# The NICs that are cabled to each other, one pair for each side, as the hosts see them:
# `pvesh get /nodes/HOST/hardware/pci` and `lspci -nnks ADDRESS` show all five values.
pci_mappings = {
  west = {
    pve2 = { path = "0000:03:00.0", id = "8086:1572", iommu_group = 33, subsystem_id = "8086:0001" }
    pve3 = { path = "0000:03:00.0", id = "8086:1572", iommu_group = 33, subsystem_id = "8086:0001" }
  }
  east = {
    pve2 = { path = "0000:03:00.1", id = "8086:1572", iommu_group = 34, subsystem_id = "8086:0001" }
    pve3 = { path = "0000:03:00.1", id = "8086:1572", iommu_group = 34, subsystem_id = "8086:0001" }
  }
}

# The NICs as each machine sees them: whole, by their PCI addresses inside it
# (`talosctl -n ADDRESS get pcidevices`).
testbeds = {
  lab = { # the name for which the samples ask
    is_default = true
    host_devices = {
      generator_west = "0000:01:00.0"
      generator_east = "0000:02:00.0"
      device_west    = { pci_address = "0000:01:00.0" }
      device_east    = { pci_address = "0000:02:00.0" }
    }
  }
}

# What is installed into the cluster. Without it: machines and Kubernetes alone.
# The two manifests are downloaded first; terraform/versions.md has their addresses. The images
# are made and pushed first: docs/tutorials/first-lab-proxmox.md, step 2.
addons = {
  vnfbench    = { registry = "registry.example.com/lab", tag = "TAG" } # as `make push` prints it
  kubevirt    = { operator_manifest = "kubevirt-operator.yaml" }
  multus      = { manifest = "multus-daemonset-thick.yml" }
  cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" } # host-device among them
}
