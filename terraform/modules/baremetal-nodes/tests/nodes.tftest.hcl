# Planned against the providers' schemas, without Matchbox.
mock_provider "matchbox" {}

variables {
  images = {
    cp-1  = { kernel = "https://factory.example/image/aaa/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/aaa/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    gen-1 = { kernel = "https://factory.example/image/bbb/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/bbb/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/bbb:v1.13.0" }
    dut-1 = { kernel = "https://factory.example/image/ccc/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/ccc/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/ccc:v1.13.0" }
    a     = { kernel = "https://factory.example/image/aaa/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/aaa/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    b     = { kernel = "https://factory.example/image/aaa/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/aaa/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    A     = { kernel = "https://factory.example/image/aaa/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/aaa/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/aaa:v1.13.0" }
  }
  cluster_name = "nfv-lab"
  nodes = {
    cp-1  = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" }
    gen-1 = { mac = "0c:c4:7a:00:00:21", role = "worker", address = "192.0.2.21/24", install_disk = "/dev/sda", labels = { "vnfbench.io/role" = "generator" } }
    dut-1 = { mac = "0c:c4:7a:00:00:31", role = "worker", address = "192.0.2.31/24", install_disk = "/dev/nvme0n1", kernel_args = ["console=ttyS1,115200"], measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7" } }
  }
}

run "machines" {
  command = plan

  assert {
    condition     = matchbox_group.node["dut-1"].selector.mac == "0c:c4:7a:00:00:31" && matchbox_group.node["dut-1"].profile == "nfv-lab-dut-1"
    error_message = "each machine finds its profile by its MAC address"
  }
  assert {
    condition     = matchbox_profile.node["dut-1"].kernel == "https://factory.example/image/ccc/v1.13.0/kernel-amd64" && contains(matchbox_profile.node["dut-1"].args, "console=ttyS1,115200")
    error_message = "Talos' kernel, with the machine's own arguments"
  }
  assert {
    condition     = alltrue([for p in matchbox_profile.node : p.generic_config == null])
    error_message = "no configuration in Matchbox: it would show secrets to anyone who asks"
  }
  assert {
    condition     = output.nodes["dut-1"].installer_image == "factory.example/installer/ccc:v1.13.0" && output.nodes["dut-1"].reset_on_removal
    error_message = "Talos installs itself by the image of the machine's class, and a disk that stays is erased"
  }
  assert {
    condition     = output.nodes["dut-1"].install_disk == "/dev/nvme0n1" && output.nodes["gen-1"].labels["vnfbench.io/role"] == "generator"
    error_message = "the output is what the module cluster takes"
  }
}

run "even_control_plane" {
  command = plan
  variables { nodes = { a = { mac = "0c:c4:7a:00:00:11", role = "worker", address = "192.0.2.11/24", install_disk = "/dev/sda" } } }
  expect_failures = [var.nodes]
}

run "unknown_role" {
  command = plan
  variables { nodes = { a = { mac = "0c:c4:7a:00:00:11", role = "node", address = "192.0.2.11/24", install_disk = "/dev/sda" } } }
  expect_failures = [var.nodes]
}

run "mac_with_dashes" {
  command = plan
  variables { nodes = { a = { mac = "0c-c4-7a-00-00-11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" } } }
  expect_failures = [var.nodes]
}

run "one_mac_twice" {
  command = plan
  variables {
    nodes = {
      a = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" }
      b = { mac = "0c:c4:7a:00:00:11", role = "worker", address = "192.0.2.12/24", install_disk = "/dev/sda" }
    }
  }
  expect_failures = [var.nodes]
}

run "one_address_twice" {
  command = plan
  variables {
    nodes = {
      a = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" }
      b = { mac = "0c:c4:7a:00:00:12", role = "worker", address = "192.0.2.11/24", install_disk = "/dev/sda" }
    }
  }
  expect_failures = [var.nodes]
}

run "address_without_prefix" {
  command = plan
  variables { nodes = { a = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11", install_disk = "/dev/sda" } } }
  expect_failures = [var.nodes]
}

run "name_with_capitals" {
  command = plan
  variables { nodes = { A = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" } } }
  expect_failures = [var.nodes]
}

run "disk_without_dev" {
  command = plan
  variables { nodes = { a = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "sda" } } }
  expect_failures = [var.nodes]
}

run "wrong_values_of_the_rest" {
  command = plan
  variables {
    cluster_name = "NFV"
    images       = {}
  }
  expect_failures = [var.cluster_name, var.images]
}
