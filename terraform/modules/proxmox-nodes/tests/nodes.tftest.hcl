# Planned against the provider's schema, without a Proxmox host.
mock_provider "proxmox" {}

variables {
  images = {
    cp-1  = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    gen-1 = { class = "bbbbbbbbbbbb", disk_image = "https://factory.example/image/bbb/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/bbb:v1.13.0" }
    dut-1 = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    a     = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    b     = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    A     = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
  }
  cluster_name  = "nfv-lab"
  gateway       = "192.0.2.1"
  talos_version = "v1.13.0"
  pci_mappings = {
    west = { pve2 = { path = "0000:03:00.0", id = "8086:1572", iommu_group = 33, subsystem_id = "8086:0001" } }
    east = { pve2 = { path = "0000:03:00.1", id = "8086:1572", iommu_group = 34, subsystem_id = null } }
  }
  nodes = {
    cp-1 = {
      host = "pve1", role = "controlplane", address = "192.0.2.11/24", cpus = 2, memory_mib = 4096
    }
    gen-1 = {
      host            = "pve1", role = "worker", address = "192.0.2.21/24", cpus = 4, memory_mib = 8192
      traffic_bridges = ["vmbr10", "vmbr11"]
      labels          = { "vnfbench.io/role" = "generator" }
    }
    dut-1 = {
      host         = "pve2", role = "worker", address = "192.0.2.31/24", cpus = 8, memory_mib = 16384
      cpu_affinity = "8-15", hugepages_mib = 1024, numa_node = 1
      pci_mappings = ["west", "east"]
      labels       = { "vnfbench.io/role" = "device" }
      measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_1gi = 8 }
    }
  }
}

run "machines" {
  command = plan

  assert {
    condition     = length(proxmox_virtual_environment_vm.node) == 3
    error_message = "one virtual machine for each node"
  }
  assert {
    condition     = join(",", keys(proxmox_download_file.talos)) == "pve1/aaaaaaaaaaaa,pve1/bbbbbbbbbbbb,pve2/aaaaaaaaaaaa"
    error_message = "one image for each host and class"
  }
  assert {
    condition     = proxmox_download_file.talos["pve1/bbbbbbbbbbbb"].url == "https://factory.example/image/bbb/v1.13.0/nocloud-amd64.qcow2" && proxmox_download_file.talos["pve1/bbbbbbbbbbbb"].node_name == "pve1"
    error_message = "the image is the one that Proxmox can import"
  }
  assert {
    condition     = proxmox_download_file.talos["pve1/bbbbbbbbbbbb"].file_name == "nfv-lab-talos-v1.13.0-bbbbbbbbbbbb.qcow2"
    error_message = "the file is the cluster's: another one does not meet it"
  }
  assert {
    condition     = output.nodes["gen-1"].installer_image == "factory.example/installer/bbb:v1.13.0" && !output.nodes["gen-1"].reset_on_removal
    error_message = "Talos upgrades itself by the image of the machine's class, and a disk that goes is not erased first"
  }
  assert {
    condition     = alltrue([for vm in proxmox_virtual_environment_vm.node : !vm.reboot_after_update])
    error_message = "no machine is stopped because another number was written"
  }
  assert {
    condition = alltrue([for vm in proxmox_virtual_environment_vm.node :
    vm.cpu[0].type == "host" && vm.memory[0].floating == 0 && vm.agent[0].enabled == false])
    error_message = "the host's CPU, no balloon, no agent"
  }
  assert {
    condition     = proxmox_virtual_environment_vm.node["gen-1"].network_device[2].bridge == "vmbr11" && proxmox_virtual_environment_vm.node["gen-1"].network_device[2].queues == 4
    error_message = "traffic NICs have as many queues as there are vCPUs"
  }
  assert {
    condition     = proxmox_virtual_environment_vm.node["dut-1"].hostpci[1].mapping == "east" && proxmox_virtual_environment_vm.node["dut-1"].hostpci[1].device == "hostpci1"
    error_message = "both NICs are passed through by mapping"
  }
  assert {
    condition     = proxmox_virtual_environment_vm.node["dut-1"].numa[0].hostnodes == "1" && proxmox_virtual_environment_vm.node["dut-1"].cpu[0].affinity == "8-15"
    error_message = "CPUs and memory are of one NUMA node"
  }
  assert {
    condition     = output.nodes["dut-1"].address == "192.0.2.31" && output.nodes["dut-1"].measurement.isolated_cpus == "2-7"
    error_message = "the output is what the module cluster takes"
  }
}

run "even_control_plane" {
  command = plan
  variables { nodes = { a = { host = "p", role = "worker", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048 } } }
  expect_failures = [var.nodes]
}

run "unknown_role" {
  command = plan
  variables { nodes = { a = { host = "p", role = "master", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048 } } }
  expect_failures = [var.nodes]
}

run "address_without_prefix" {
  command = plan
  variables { nodes = { a = { host = "p", role = "controlplane", address = "192.0.2.2", cpus = 2, memory_mib = 2048 } } }
  expect_failures = [var.nodes]
}

run "one_address_twice" {
  command = plan
  variables {
    nodes = {
      a = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048 }
      b = { host = "p", role = "worker", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048 }
    }
  }
  expect_failures = [var.nodes]
}

run "name_with_capitals" {
  command = plan
  variables { nodes = { A = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048 } } }
  expect_failures = [var.nodes]
}

run "one_cpu" {
  command = plan
  variables { nodes = { a = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 1, memory_mib = 2048 } } }
  expect_failures = [var.nodes]
}

run "odd_memory" {
  command = plan
  variables { nodes = { a = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 2, memory_mib = 2500 } } }
  expect_failures = [var.nodes]
}

run "hugepages_of_4_mib" {
  command = plan
  variables { nodes = { a = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048, hugepages_mib = 4 } } }
  expect_failures = [var.nodes]
}

run "affinity_that_is_no_list" {
  command = plan
  variables { nodes = { a = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048, cpu_affinity = "all" } } }
  expect_failures = [var.nodes]
}

run "fewer_cores_than_vcpus" {
  command = plan
  variables { nodes = { a = { host = "p", role = "controlplane", address = "192.0.2.2/24", cpus = 4, memory_mib = 2048, cpu_affinity = "2-4" } } }
  expect_failures = [var.nodes]
}

run "mapping_on_another_host" {
  command = plan
  variables { nodes = { a = { host = "pve1", role = "controlplane", address = "192.0.2.2/24", cpus = 2, memory_mib = 2048, pci_mappings = ["west"] } } }
  expect_failures = [proxmox_virtual_environment_vm.node["a"]]
}

run "wrong_values_of_the_rest" {
  command = plan
  variables {
    cluster_name      = "NFV"
    datastore         = "local lvm"
    image_datastore   = "local:iso"
    management_bridge = "bridge=vmbr0"
    dns_servers       = ["192.0.2.1", "dns.example"]
    gateway           = "none"
    management_vlan   = 4095
    talos_version     = "1.13"
    image_checksums   = { aaaaaaaaaaaa = "abc" }
    image_host        = "pve 1"
    pci_mappings      = { west = { pve2 = { path = "03:00.0", id = "8086", iommu_group = 1, subsystem_id = "8086" } } }
    images            = { cp-1 = { class = "a", disk_image = "", installer = "" } }
  }
  expect_failures = [
    var.cluster_name, var.gateway, var.management_vlan, var.talos_version,
    var.images, var.image_checksums, var.image_host, var.pci_mappings,
    var.datastore, var.image_datastore, var.management_bridge, var.dns_servers,
  ]
}

run "names_and_servers_that_proxmox_takes" {
  command = plan
  variables {
    datastore         = "nfs-1.lab_a"
    image_datastore   = "Images"
    management_bridge = "vmbr0.20"
    dns_servers       = ["192.0.2.1", "2001:db8::1"]
  }
}

run "storage_that_hosts_share" {
  command = plan
  variables {
    image_host      = "pve9"
    image_checksums = { aaaaaaaaaaaa = "8f94790fbbbe7f01ef8741f161b811aa296f96f455c1451b4debda2efa0e9038" }
  }

  assert {
    condition     = join(",", keys(proxmox_download_file.talos)) == "pve9/aaaaaaaaaaaa,pve9/bbbbbbbbbbbb" && proxmox_download_file.talos["pve9/aaaaaaaaaaaa"].node_name == "pve9"
    error_message = "each image is downloaded once"
  }
  assert {
    condition     = proxmox_download_file.talos["pve9/aaaaaaaaaaaa"].checksum_algorithm == "sha256" && proxmox_download_file.talos["pve9/bbbbbbbbbbbb"].checksum == null
    error_message = "a download is checked where its sum is known"
  }
}
