# Removing a node from the middle of the map touches that node alone: test/terraform
# compares the ids of both runs, which OpenTofu's assertions cannot.
mock_provider "proxmox" {}

variables {
  images = {
    a = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    b = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
    c = { class = "aaaaaaaaaaaa", disk_image = "https://factory.example/image/aaa/v1.13.0/nocloud-amd64.raw.xz", installer = "factory.example/installer/aaa:v1.13.0" }
  }
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
