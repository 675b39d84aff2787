# Removing a node from the middle of the map touches that node alone: test/terraform
# compares the ids of both runs, which OpenTofu's assertions cannot.
mock_provider "matchbox" {}

mock_provider "talos" {
  mock_data "talos_image_factory_urls" {
    # Every field: OpenTofu's mocks want a nested object whole.
    defaults = {
      urls = {
        disk_image            = ""
        disk_image_secureboot = ""
        initramfs             = "https://factory.example/initramfs"
        installer             = "factory.example/installer:v1"
        installer_secureboot  = ""
        iso                   = ""
        iso_secureboot        = ""
        kernel                = "https://factory.example/kernel"
        kernel_command_line   = ""
        pxe                   = ""
        uki                   = ""
      }
    }
  }
}

variables {
  cluster_name  = "nfv-lab"
  talos_version = "v1.13.0"
  nodes = {
    a = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" }
    b = { mac = "0c:c4:7a:00:00:12", role = "worker", address = "192.0.2.12/24", install_disk = "/dev/sda" }
    c = { mac = "0c:c4:7a:00:00:13", role = "worker", address = "192.0.2.13/24", install_disk = "/dev/sda" }
  }
}

run "three" {
  command = apply
}

run "without_the_middle" {
  command = apply
  variables {
    nodes = {
      a = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" }
      c = { mac = "0c:c4:7a:00:00:13", role = "worker", address = "192.0.2.13/24", install_disk = "/dev/sda" }
    }
  }
}
