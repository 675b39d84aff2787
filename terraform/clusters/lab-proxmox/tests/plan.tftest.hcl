# The example's plan, against the providers' schemas.
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

run "machines_alone" {
  command = apply

  assert {
    condition     = output.addons == null && length(module.addons) == 0
    error_message = "nothing is installed that was not asked for"
  }
}

run "example" {
  command = apply
  variables {
    addons = {
      vnfbench    = { registry = "registry.example.com/lab", tag = "1.2.3" }
      kubevirt    = { operator_manifest = "../../modules/addons/tests/fixtures/kubevirt-operator.yaml" }
      multus      = { manifest = "../../modules/addons/tests/fixtures/multus-daemonset-thick.yml" }
      cni_plugins = { image = "registry.example.com/lab/cni-plugins:v1.9.1" }
      sriov = {
        chart    = "oci://registry.example.com/charts/sriov-network-operator-chart"
        policies = { gen-west = { resource_name = "gen_west", node_selector = { "vnfbench.io/role" = "generator" }, pf_names = ["ens1f0"], virtual_functions = 1 } }
      }
      monitoring = { chart = "kube-prometheus-stack", repository = "https://charts.example.com" }
    }
  }

  assert {
    condition     = join(",", keys(output.addons)) == "kubevirt,kubevirt-operator,monitoring,multus,sriov-network-operator,sriov-policy-gen-west,vnfbench,vnfbench-cni-plugins"
    error_message = "one apply goes from machines to the operator"
  }
  assert {
    condition     = module.addons["this"].namespaces["vnfbench-system"] == "privileged" && module.addons["this"].namespaces["sriov-network-operator"] == "privileged"
    error_message = "namespaces enforce the level that their pods need"
  }
  assert {
    condition     = issensitive(output.kubeconfig) && issensitive(output.talosconfig)
    error_message = "credentials are sensitive"
  }

  assert {
    condition     = join(",", keys(output.nodes)) == "cp-1,dut-1,gen-1"
    error_message = "every machine is in the output"
  }
  assert {
    condition     = alltrue([for node in output.nodes : join(",", keys(node)) == "address,labels,role"])
    error_message = "patches, which may hold credentials, are in no plain output"
  }
  assert {
    condition     = yamldecode(output.testbeds).spec.systemUnderTest.hostDevices.west.pciAddress == "0000:01:00.0"
    error_message = "the Testbed names the device's NICs"
  }
}

run "tagged_management_network_and_shared_images" {
  command = plan
  variables {
    management_vlan   = 20
    image_datastore   = "nfs"
    image_host        = "pve1"
    restart_on_change = true
  }

  assert {
    condition     = length(module.nodes.vm_ids) == 3
    error_message = "all machines are planned"
  }
}

run "wrong_values_that_modules_refuse" {
  command = plan
  variables {
    image_factory_url = "factory.example.com"
    proxmox_endpoint  = "http://pve1.example:8006/"
  }
  expect_failures = [var.image_factory_url, var.proxmox_endpoint]
}
