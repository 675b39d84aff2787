# Applied against a mocked provider; the patches are Talos' to judge, which
# test/terraform does with its own library.
mock_provider "talos" {}

variables {
  cluster_name       = "nfv-lab"
  endpoint           = "192.0.2.11"
  talos_version      = "v1.13.0"
  kubernetes_version = "1.34.10"
  nodes = {
    cp-1  = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {} }
    gen-1 = { role = "worker", address = "192.0.2.21", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = { "vnfbench.io/role" = "generator" } }
    dut-1 = {
      role        = "worker", address = "192.0.2.31", install_disk = "/dev/nvme0n1", installer_image = "factory.example/installer/def:v1.13.0"
      labels      = { "vnfbench.io/role" = "device" }
      measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 8, reserved_memory_mib = 1024 }
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
    condition     = length(output.patches["gen-1"]) == 3 && length(output.patches["dut-1"]) == 4
    error_message = "an ordinary node has no patch for measurement"
  }
  assert {
    condition     = yamldecode(output.patches["dut-1"][2]) == { apiVersion = "v1alpha1", kind = "HostnameConfig", auto = "off", hostname = "dut-1" }
    error_message = "a machine's name is a document by itself"
  }
  assert {
    condition     = yamldecode(output.patches["dut-1"][1]).machine.install == { disk = "/dev/nvme0n1", image = "factory.example/installer/def:v1.13.0" }
    error_message = "a machine is installed by its own image, whose arguments of the kernel it takes"
  }
  assert {
    condition     = alltrue([for apply in talos_machine_configuration_apply.node : apply.on_destroy.reset && !apply.on_destroy.graceful])
    error_message = "a cluster of one control plane node can be destroyed: none waits for etcd"
  }
  assert {
    condition     = yamldecode(output.patches["dut-1"][3]).machine.kubelet.extraConfig.reservedSystemCPUs == "0-1"
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
    nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {}
    measurement = { reserved_cpus = "0-2", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 0, reserved_memory_mib = 1024 } } }
  }
  expect_failures = [var.nodes]
}

run "cpus_that_are_no_list" {
  command = plan
  variables {
    nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {}
    measurement = { reserved_cpus = "none", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 0, reserved_memory_mib = 1024 } } }
  }
  expect_failures = [var.nodes]
}

run "too_little_memory" {
  command = plan
  variables {
    nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {}
    measurement = { reserved_cpus = "0", isolated_cpus = "2-7", hugepages_2mi = 0, hugepages_1gi = 0, reserved_memory_mib = 100 } } }
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
    kubernetes_version = "v1.37"
    config_patches     = ["machine: {}", "machine"]
    registry_mirrors   = { "registry.k8s.io" = ["mirror.example.com"] }
  }
  expect_failures = [
    var.cluster_name, var.endpoint, var.kubernetes_version, var.config_patches, var.registry_mirrors,
  ]
}

run "patch_that_is_no_yaml" {
  command = plan
  variables {
    config_patches = ["machine: {}\n---\nmachine: ["]
  }
  expect_failures = [var.config_patches]
}

run "json_patches" {
  command = plan
  variables {
    config_patches = ["- { op: add, path: /machine/time, value: {} }"]
  }
  expect_failures = [var.config_patches]
}

run "json_patches_of_a_machine" {
  command = plan
  variables { nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {}, config_patches = ["- { op: add, path: /machine/time, value: {} }"] } } }
  expect_failures = [var.nodes]
}

# Talos' own code judges what this run asks for, in test/terraform.
run "patches_that_talos_takes" {
  command = apply
  variables {
    registry_mirrors = { "registry.k8s.io" = ["https://mirror.example.com", "http://mirror.example.com:5000"] }
    nodes = {
      all-1 = {
        role            = "controlplane", address = "192.0.2.21", install_disk = "/dev/sda", labels = {}
        installer_image = "registry.example.com:5000/siderolabs/installer@sha256:376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
        config_patches  = ["machine: { nodeTaints: { a: b:NoSchedule } }"]
      }
    }
    config_patches = [
      "machine: { sysctls: { kernel.panic: '5' } }",
      "# a comment\n---\nmachine: {}\n---\napiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\ntimeout: 5m\n",
    ]
  }

  assert {
    condition     = length(data.talos_machine_configuration.node["all-1"].config_patches) == 7 && strcontains(data.talos_machine_configuration.node["all-1"].config_patches[6], "nodeTaints")
    error_message = "every patch reaches every machine, and a machine's own come last"
  }
  assert {
    condition     = yamldecode(output.patches["all-1"][1]).endpoints[0].url == "https://mirror.example.com"
    error_message = "each registry's mirrors are a document"
  }
}

run "version_that_talos_refuses" {
  command = plan
  variables { kubernetes_version = "1.37.2" }
  expect_failures = [var.kubernetes_version]
}

run "version_that_an_older_talos_refuses" {
  command = plan
  variables {
    talos_version      = "v1.12.6"
    kubernetes_version = "1.36.0"
  }
  expect_failures = [var.kubernetes_version]
}

run "talos_that_is_too_old" {
  command = plan
  variables { talos_version = "v1.11.5" }
  expect_failures = [var.talos_version]
}

run "installer_with_scheme" {
  command = plan
  variables { nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "https://factory.example/installer/abc:v1.13.0", labels = {} } } }
  expect_failures = [var.nodes]
}

run "patch_of_a_machine_that_is_no_yaml" {
  command = plan
  variables { nodes = { a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {}, config_patches = ["machine: ["] } } }
  expect_failures = [var.nodes]
}

run "one_leaves_a_cluster_that_stays" {
  command = plan
  variables {
    graceful_removal = true
    nodes = {
      a = { role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {} }
      b = { role = "worker", address = "192.0.2.12", install_disk = "/dev/sda", installer_image = "factory.example/installer/abc:v1.13.0", labels = {}, reset_on_removal = false }
    }
  }

  assert {
    condition     = !talos_machine_configuration_apply.node["a"].on_destroy.graceful && talos_machine_configuration_apply.node["b"].on_destroy.graceful && talos_machine_configuration_apply.node["b"].on_destroy.reset
    error_message = "a worker is drained; the only member of etcd cannot leave it"
  }
}

run "cluster_that_is_not_healthy" {
  command = plan
  variables { wait_for_health = false }

  assert {
    condition     = length(data.talos_cluster_health.this) == 0
    error_message = "nothing waits for a cluster that is not healthy"
  }
}

run "talos_without_v" {
  command = plan
  variables { talos_version = "1.13.0" }
  expect_failures = [var.talos_version]
}
