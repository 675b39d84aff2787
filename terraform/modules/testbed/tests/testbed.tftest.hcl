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
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.ports.west.sriov.resourceName == "openshift.io/gen_west"
    error_message = "the generator's port takes from its pool"
  }
  assert {
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.generator.nodeSelector["vnfbench.io/role"] == "generator"
    error_message = "the generator has a node of its own"
  }
  assert {
    condition     = !can(yamldecode(split("---\n", output.manifest)[1]).spec.deviceUnderTest.sriov.innerResourceName)
    error_message = "what was not chosen is left out"
  }
}

run "bridges" {
  command = plan

  assert {
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.generator.nodeSelector["vnfbench.io/role"] == "device"
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
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.generator.cpu == "8"
    error_message = "each sending thread has a CPU, and so have the other two"
  }
  assert {
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.generator.trex == { mode = "DPDK", coresPerPort = 3, hugepages = { memory = "4Gi", pageSize = "1Gi" } }
    error_message = "TRex drives virtual functions by DPDK"
  }
  assert {
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.generator.nodeSelector["vnfbench.io/role"] == "generator"
    error_message = "the generator keeps its node"
  }
}

run "trex_on_bridges" {
  command = plan
  variables { trex = { image = "registry.example.com/lab/vnfbench/trex:v3.08" } }

  assert {
    condition     = yamldecode(split("---\n", output.manifest)[1]).spec.generator.trex == { mode = "AFPacket" }
    error_message = "TRex sends through packet sockets on bridges"
  }
  assert {
    condition     = !can(yamldecode(split("---\n", output.manifest)[1]).spec.generator.cpu)
    error_message = "packet sockets need no CPUs of their own"
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
    condition     = !can(yamldecode(split("---\n", output.manifest)[1]).spec.generator.nodeSelector)
    error_message = "without labels every node is both"
  }
  assert {
    condition     = yamldecode(split("---\n", output.manifest)[0]).metadata.labels["pod-security.kubernetes.io/enforce"] == "privileged"
    error_message = "the namespace admits the pods"
  }
}

run "half_a_split" {
  command = plan
  variables { nodes = { a = { labels = { "vnfbench.io/role" = "device" } } } }
  expect_failures = [var.nodes]
}

run "wrong_values_of_the_rest" {
  command = plan
  variables {
    name                 = "Lab"
    namespace            = "a.b"
    link_bits_per_second = 1
    mtu_bytes            = 100
    sriov                = { generator_west = "west", generator_east = "east", device_west = "a", device_east = "b" }
  }
  expect_failures = [var.name, var.namespace, var.link_bits_per_second, var.mtu_bytes, var.sriov]
}
