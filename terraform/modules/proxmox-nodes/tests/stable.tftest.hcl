# Removing a node from the middle of the map touches that node alone: test/terraform
# compares the ids of both runs, which OpenTofu's assertions cannot.
mock_provider "proxmox" {}

mock_provider "talos" {
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
  cluster_name  = "nfv-lab"
  gateway       = "192.0.2.1"
  talos_version = "v1.13.0"
  nodes = {
    a = { host = "pve1", role = "controlplane", address = "192.0.2.11/24", cpus = 2, memory_mib = 4096 }
    b = { host = "pve1", role = "worker", address = "192.0.2.12/24", cpus = 2, memory_mib = 4096 }
    c = { host = "pve1", role = "worker", address = "192.0.2.13/24", cpus = 2, memory_mib = 4096 }
  }
}

run "three" {
  command = apply
}

run "without_the_middle" {
  command = apply
  variables {
    nodes = {
      a = { host = "pve1", role = "controlplane", address = "192.0.2.11/24", cpus = 2, memory_mib = 4096 }
      c = { host = "pve1", role = "worker", address = "192.0.2.13/24", cpus = 2, memory_mib = 4096 }
    }
  }
}
