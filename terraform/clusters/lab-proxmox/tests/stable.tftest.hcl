# A machine that goes takes nothing with it; test/terraform reads the second
# run's plan and compares what it would do with the machine's name.
mock_provider "proxmox" {}

mock_provider "helm" {}
mock_provider "kubernetes" {}

mock_provider "talos" {
  mock_resource "talos_cluster_kubeconfig" {
    defaults = {
      kubeconfig_raw = "secret-of-kubeconfig"
      kubernetes_client_configuration = {
        host               = "https://192.0.2.11:6443"
        ca_certificate     = "c2VjcmV0"
        client_certificate = "c2VjcmV0"
        client_key         = "c2VjcmV0"
      }
    }
  }
  mock_data "talos_machine_configuration" {
    defaults = { machine_configuration = "secret-of-machine" }
  }
  mock_data "talos_client_configuration" {
    defaults = { talos_config = "secret-of-talosconfig" }
  }
  mock_data "talos_image_factory_urls" {
    # Every field: OpenTofu's mocks want a nested object whole.
    defaults = {
      urls = {
        disk_image            = "https://factory.example/nocloud-amd64.raw.xz"
        disk_image_secureboot = ""
        initramfs             = ""
        installer             = "factory.example/installer:v1"
        installer_secureboot  = ""
        iso                   = ""
        iso_secureboot        = ""
        kernel                = ""
        kernel_command_line   = ""
        pxe                   = ""
        uki                   = ""
      }
    }
  }
}

variables {
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

  addons = {
    vnfbench = { registry = "registry.example.com/lab", tag = "1.2.3" }
    multus   = { manifest = "../../modules/addons/tests/fixtures/multus-daemonset-thick.yml" }
  }

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

  testbeds = {
    nfv-lab = {
      host_devices = {
        generator_west = "0000:01:00.0"
        generator_east = "0000:02:00.0"
        device_west    = { pci_address = "0000:01:00.0" }
        device_east    = { pci_address = "0000:02:00.0" }
      }
    }
  }
}

run "with_a_spare_machine" {
  command = apply
  variables {
    nodes = {
      spare-1 = {
        host       = "pve1"
        role       = "worker"
        address    = "192.0.2.41/24"
        cpus       = 2
        memory_mib = 4096
      }
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
  }
}

run "without_it" {
  command = plan

  assert {
    condition     = join(",", keys(output.nodes)) == "cp-1,dut-1,gen-1"
    error_message = "the machine is still there"
  }
}
