# Applied against a mocked provider; the patches are Talos' to judge, which
# test/terraform does with its own library.
mock_provider "talos" {}

variables {
  cluster_name       = "nfv-lab"
  endpoint           = "192.0.2.11"
  installer_image    = "factory.example/installer/abc:v1.13.0"
  talos_version      = "v1.13.0"
  kubernetes_version = "1.37.2"
  nodes = {
    cp-1  = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", labels = {} }
    gen-1 = { role = "worker", address = "192.0.2.21", install_disk = "/dev/sda", labels = { "vnfbench.io/role" = "generator" } }
    dut-1 = {
      role        = "worker", address = "192.0.2.31", install_disk = "/dev/nvme0n1"
      labels      = { "vnfbench.io/role" = "device" }
      measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 8, reserved_memory_mib = 1024, nested_virtualization = true }
    }
  }
}

run "cluster" {
  command = apply

  assert {
    condition     = keys(talos_machine_configuration_apply.node) == ["cp-1", "dut-1", "gen-1"]
    error_message = "every machine gets its configuration"
  }
  assert {
    condition     = talos_machine_bootstrap.this.node == "192.0.2.11"
    error_message = "the first control plane node is bootstrapped"
  }
  assert {
    condition     = length(output.patches["gen-1"]) == 2 && length(output.patches["dut-1"]) == 3
    error_message = "an ordinary node has no patch for measurement"
  }
  assert {
    condition     = contains(yamldecode(output.patches["dut-1"][2]).machine.install.extraKernelArgs, "isolcpus=managed_irq,domain,2-7")
    error_message = "CPUs are isolated"
  }
  assert {
    condition     = contains(yamldecode(output.patches["dut-1"][2]).machine.install.extraKernelArgs, "hugepages=8")
    error_message = "hugepages are set aside at boot"
  }
  assert {
    condition     = yamldecode(output.patches["dut-1"][2]).machine.kubelet.extraConfig.reservedSystemCPUs == "0-1"
    error_message = "the system has its own CPUs"
  }
  assert {
    condition     = yamldecode(output.patches["gen-1"][1]).machine.nodeLabels["vnfbench.io/role"] == "generator"
    error_message = "labels are the map's"
  }
}

run "cpus_in_common" {
  command = plan
  variables {
    nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", labels = {}
    measurement = { reserved_cpus = "0-2", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 0, reserved_memory_mib = 1024, nested_virtualization = false } } }
  }
  expect_failures = [var.nodes]
}

run "cpus_that_are_no_list" {
  command = plan
  variables {
    nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", labels = {}
    measurement = { reserved_cpus = "none", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 0, reserved_memory_mib = 1024, nested_virtualization = false } } }
  }
  expect_failures = [var.nodes]
}

run "too_little_memory" {
  command = plan
  variables {
    nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", labels = {}
    measurement = { reserved_cpus = "0", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 0, reserved_memory_mib = 100, nested_virtualization = false } } }
  }
  expect_failures = [var.nodes]
}

run "no_control_plane" {
  command = plan
  variables { nodes = {} }
  expect_failures = [var.nodes]
}

run "networks_of_the_measured_traffic" {
  command = plan
  variables {
    pod_subnets     = ["198.18.0.0/16"]
    service_subnets = ["198.19.0.0/16"]
  }
  expect_failures = [var.pod_subnets, var.service_subnets]
}

run "wrong_values_of_the_rest" {
  command = plan
  variables {
    cluster_name       = "NFV"
    endpoint           = "https://192.0.2.11"
    talos_version      = "1.13"
    kubernetes_version = "v1.37"
    installer_image    = "https://factory.example/installer/abc:v1.13.0"
    config_patches     = ["machine: {}", "machine"]
  }
  expect_failures = [
    var.cluster_name, var.endpoint, var.talos_version, var.kubernetes_version, var.installer_image, var.config_patches,
  ]
}

run "patch_that_is_no_yaml" {
  command = plan
  variables {
    config_patches = ["machine: {}\n---\nmachine: ["]
  }
  expect_failures = [var.config_patches]
}

run "patches_that_talos_takes" {
  command = plan
  variables {
    installer_image = "registry.example.com:5000/siderolabs/installer@sha256:376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
    config_patches = [
      "machine: { time: { servers: [192.0.2.1] } }",
      "# a comment\n---\nmachine: {}\n---\napiVersion: v1alpha1\nkind: WatchdogTimerConfig\n",
      "- { op: add, path: /machine/time, value: {} }",
    ]
  }

  assert {
    condition     = length(data.talos_machine_configuration.node["gen-1"].config_patches) == 5
    error_message = "every patch reaches every machine"
  }
}
