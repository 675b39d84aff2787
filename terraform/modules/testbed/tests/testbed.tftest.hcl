variables {
  nodes = {
    gen-1 = { labels = { "vnfbench.io/role" = "generator" } }
    dut-1 = { labels = { "vnfbench.io/role" = "device" } }
  }
}

run "sriov" {
  command = plan
  variables {
    sriov = {
      generator_west = "openshift.io/gen_west", generator_east = "openshift.io/gen_east"
      device_west    = "openshift.io/dut_west", device_east = "openshift.io/dut_east"
    }
  }

  assert {
    condition     = yamldecode(output.manifest).spec.ports.west.sriov.resourceName == "openshift.io/gen_west"
    error_message = "the generator's port takes from its pool"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.generator.nodeSelector["vnfbench.io/role"] == "generator"
    error_message = "the generator has its own node"
  }
  assert {
    condition     = !can(yamldecode(output.manifest).spec.systemUnderTest.sriov.innerResourceName) && !can(yamldecode(output.manifest).spec.historyLimit)
    error_message = "what was not chosen is left out"
  }
}

# Everything that a Testbed can say of virtual functions.
run "sriov_in_full" {
  command = plan
  variables {
    sriov = {
      generator_west = "openshift.io/gen_west", generator_east = "openshift.io/gen_east", vlan_west = 101, vlan_east = 102
      device_west    = "openshift.io/dut_west", device_east = "openshift.io/dut_east", device_inner = "openshift.io/dut_inner", first_inner_vlan = 200
    }
    device = {
      attachments    = ["SRIOV"], observer = "EnabledWithCycles", realtime = "Enabled"
      function_image = "registry.example.com/lab/vnfbench/vnf:v1", guest_image = "registry.example.com/lab/vnfbench/vnf-guest:v1"
      mac_addresses  = { fw = { west = "52:54:00:12:34:56", east = "52:54:00:12:34:57", management = "52:54:00:12:34:58" }, gw = { east = "52:54:00:12:34:59" } }
    }
    namespaces = { match_labels = { "vnfbench.io/lab" = "metal" } }
    is_default = true

    history_limit = 1000
  }

  assert {
    condition     = yamldecode(output.manifest).spec.historyLimit == 1000
    error_message = "the number of finished runs is set"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.ports.west.sriov.vlan == 101
    error_message = "the NIC adds the tag"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.namespaces == { from = "Selector", selector = { matchLabels = { "vnfbench.io/lab" = "metal" } } }
    error_message = "labels choose the namespaces"
  }
  assert {
    condition     = yamldecode(output.manifest).metadata.annotations["vnfbench.io/is-default-testbed"] == "true"
    error_message = "the Testbed is the default"
  }
}

run "host_devices" {
  command = plan
  variables {
    host_devices = {
      generator_west = "0000:03:00.0", generator_east = "0000:03:00.1"
      device_west    = { pci_address = "0000:41:00.0", resource_name = "vnfbench.io/dut-west", mac_address = "3c:fd:fe:00:00:00" }
      device_east    = { pci_address = "0000:41:00.1", resource_name = "vnfbench.io/dut-east", mac_address = "3c:fd:fe:00:00:01" }
    }
    vlan = { west = 101, east = 102 }
    generator = {
      cpu         = "4", memory = "512Mi", image = "registry.example.com/lab/vnfbench/measurer:1.2.3"
      tolerations = [{ key = "lab", operator = "Equal", value = "gen", effect = "NoSchedule" }]
      xdp         = { threads = 2, transmit_path = "Direct", scheduling = "RealTime", ring_frames = 4096, interrupt_microseconds = 0 }
    }
    device = { tolerations = [{ key = "lab", operator = "Equal", value = "dut", effect = "NoSchedule" }] }
  }

  assert {
    condition     = yamldecode(output.manifest).spec.ports.west.hostDevice.pciAddress == "0000:03:00.0"
    error_message = "the generator's port is the NIC"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.generator.xdp.threads == 2 && yamldecode(output.manifest).spec.generator.xdp.ringFrames == 4096 && yamldecode(output.manifest).spec.generator.xdp.interruptMicroseconds == 0
    error_message = "the driver is set"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.systemUnderTest.attachments == ["HostDevice"]
    error_message = "functions have what the ports are"
  }
}

run "networks" {
  command = plan
  variables {
    networks = {
      west = { generator = "lab-west", device = "dut-west", namespace = "lab", device_vlan = 0 }
      east = { generator = "lab-east", device = "dut-east", device_vlan = 12 }
    }
    vlan   = { west = 101 }
    device = { attachments = ["Veth", "Virtio"] }

    calibration_networks = { west = "loop-west", east = "loop-east", namespace = "lab" }
  }

  assert {
    condition     = yamldecode(output.manifest).spec.ports.calibrationNetworks == [{ name = "loop-west", namespace = "lab" }, { name = "loop-east", namespace = "lab" }]
    error_message = "the loop's western network is the first"
  }

  assert {
    condition     = yamldecode(output.manifest).spec.ports.east == { attachment = "NetworkAttachmentDefinition", networkAttachmentDefinition = { generatorRef = { name = "lab-east" }, deviceRef = { name = "dut-east" }, deviceVLAN = 12 } }
    error_message = "what was not chosen is left out"
  }
}

run "bridges" {
  command = plan

  assert {
    condition     = yamldecode(output.manifest).spec.generator.nodeSelector["vnfbench.io/role"] == "device"
    error_message = "with bridges the generator is on the device's node"
  }
}

run "trex_by_dpdk" {
  command = plan
  variables {
    sriov = {
      generator_west = "openshift.io/trex_west", generator_east = "openshift.io/trex_east"
      device_west    = "openshift.io/dut_west", device_east = "openshift.io/dut_east"
    }
    trex = { image = "registry.example.com/lab/vnfbench/trex:v3.08", cores_per_port = 3, hugepages_memory = "4Gi" }
  }

  assert {
    condition     = yamldecode(output.manifest).spec.generator.cpu == "8"
    error_message = "each sending thread has a CPU, and so have the other two"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.generator.trex == { mode = "DPDK", coresPerPort = 3, hugepages = { memory = "4Gi", pageSize = "1Gi" } }
    error_message = "TRex drives virtual functions by DPDK"
  }
  assert {
    condition     = yamldecode(output.manifest).spec.generator.nodeSelector["vnfbench.io/role"] == "generator"
    error_message = "the generator keeps its node"
  }
}

run "trex_on_bridges" {
  command = plan
  variables { trex = { image = "registry.example.com/lab/vnfbench/trex:v3.08" } }

  assert {
    condition     = yamldecode(output.manifest).spec.generator.trex == { mode = "AFPacket" }
    error_message = "TRex sends through packet sockets on bridges"
  }
  assert {
    condition     = !can(yamldecode(output.manifest).spec.generator.cpu)
    error_message = "packet sockets need no dedicated CPUs"
  }
}

run "wrong_trex" {
  command = plan
  variables { trex = { image = "registry.example.com/lab/vnfbench/trex", cores_per_port = 1, hugepages_size = "4Ki" } }
  expect_failures = [var.trex]
}

run "any_node" {
  command = plan
  variables { nodes = { a = { labels = {} } } }

  assert {
    condition     = !can(yamldecode(output.manifest).spec.generator.nodeSelector)
    error_message = "without labels every node is both"
  }
  assert {
    condition     = !can(yamldecode(output.manifest).metadata.namespace) && !can(yamldecode(output.manifest).spec.namespaces)
    error_message = "a Testbed is in no namespace, and takes the runs of all"
  }
}

run "half_a_split" {
  command = plan
  variables { nodes = { a = { labels = { "vnfbench.io/role" = "device" } } } }
  expect_failures = [var.nodes]
}

run "mac_address_of_a_group" {
  command = plan
  variables { device = { mac_addresses = { fw = { west = "53:54:00:12:34:56" } } } }
  expect_failures = [var.device]
}

run "two_ways" {
  command = plan
  variables {
    networks     = { west = { generator = "a" }, east = { generator = "b" } }
    host_devices = { generator_west = "03:00.0", generator_east = "0000:03:00.1", device_west = {}, device_east = { resource_name = "vnfbench.io/x" } }
  }
  expect_failures = [var.host_devices]
}

run "loop_beside_bridges" {
  command = plan
  variables {
    calibration_networks = { west = "a", east = "b" }
  }
  expect_failures = [var.calibration_networks]
}

run "loop_for_trex_by_dpdk" {
  command = plan
  variables {
    sriov                = { generator_west = "a/b", generator_east = "a/b", device_west = "a/b", device_east = "a/b" }
    trex                 = { image = "registry.example.com/lab/vnfbench/trex:v3.08" }
    calibration_networks = { west = "a", east = "b" }
  }
  expect_failures = [var.calibration_networks]
}

run "wrong_tag_of_a_network" {
  command = plan
  variables {
    networks = { west = { generator = "a", device_vlan = 5000 }, east = { generator = "b" } }
  }
  expect_failures = [var.networks]
}

run "tags_twice" {
  command = plan
  variables {
    sriov = { generator_west = "a/b", generator_east = "a/b", device_west = "a/b", device_east = "a/b" }
    vlan  = { west = 7 }
  }
  expect_failures = [var.vlan]
}

run "wrong_tags_of_nics" {
  command = plan
  variables {
    sriov = {
      generator_west = "a/b", generator_east = "a/b", device_west = "a/b", device_east = "a/b", vlan_west = 4095, first_inner_vlan = 5000
    }
  }
  expect_failures = [var.sriov]
}

run "wrong_pods" {
  command = plan
  variables {
    generator = { cpu = "four", xdp = { threads = 3, transmit_path = "Fast", scheduling = "Batch" } }
    device    = { attachments = ["Ethernet"], observer = "Maybe", realtime = "Maybe" }
  }
  expect_failures = [var.generator, var.device]
}

run "wrong_ring" {
  command = plan
  variables {
    generator = { xdp = { ring_frames = 16385 } }
  }
  expect_failures = [var.generator]
}

run "wrong_values_of_the_rest" {
  command = plan
  variables {
    name                 = "Lab"
    namespaces           = { match_labels = {} }
    link_bits_per_second = 1
    mtu_bytes            = 100
    history_limit        = 0
    sriov                = { generator_west = "west", generator_east = "east", device_west = "a", device_east = "b" }
  }
  expect_failures = [var.name, var.namespaces, var.history_limit, var.link_bits_per_second, var.mtu_bytes, var.sriov]
}
