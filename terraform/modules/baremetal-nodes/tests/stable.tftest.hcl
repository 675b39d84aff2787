# Removing a node from the middle of the map touches that node alone: test/terraform
# compares the ids of both runs, which OpenTofu's assertions cannot.
mock_provider "matchbox" {}

variables {
  images = {
    a = { kernel = "https://factory.example/image/aaa/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/aaa/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    b = { kernel = "https://factory.example/image/bbb/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/bbb/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/bbb:v1.13.0" }
    c = { kernel = "https://factory.example/image/ccc/v1.13.0/kernel-amd64", initramfs = "https://factory.example/image/ccc/v1.13.0/initramfs-amd64.xz", installer = "factory.example/installer/ccc:v1.13.0" }
  }
  cluster_name = "nfv-lab"
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
